"""Where the time of a step goes: names of operators and kernels, and shares that sum to 1."""

from pathlib import Path

import pytest
import torch

from glasshouse.claims import step_profile
from glasshouse.claims.step_profile import ATTENTION, IDLE, LOSS, OPTIMISER, OTHER, PRODUCTS
from glasshouse.training.job import Job
from tests.cli.program import some_text
from tests.needs import needs_cuda
from tests.training.small_runs import CPU, demo_spec


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::addmm", PRODUCTS),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_cublas", PRODUCTS),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", ATTENTION),
        ("aten::_log_softmax", LOSS),
        ("void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", OPTIMISER),
        ("aten::gelu", OTHER),
    ],
)
def test_operators_and_kernels_are_told_apart_by_name(name: str, kind: str) -> None:
    assert step_profile.kind_of(name) == kind


@pytest.mark.parametrize("device", [CPU, pytest.param(torch.device("cuda"), marks=needs_cuda)])
def test_the_shares_sum_to_one(tmp_path: Path, device: torch.device) -> None:
    text = tmp_path / "text.txt"
    text.write_text(some_text(300))
    shares = step_profile.profile_steps(Job.prepare(demo_spec(text, "training.cuda_graph=false"), device).engine("fp32"))
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares[kind] for kind in (PRODUCTS, OPTIMISER, LOSS)) > 0
    assert (shares[IDLE] > 0) == (device.type == "cuda")
