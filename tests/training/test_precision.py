"""Number formats: the choice by timings, and training in bfloat16."""

import math

import pytest
import torch

from glasshouse.records import metric_log
from glasshouse.training import precision
from tests.needs import needs_cuda
from tests.training.small_runs import CPU, saved_weights, train_demo


def test_bf16_is_chosen_only_if_it_is_faster(monkeypatch):
    rates = {"fp32": 1.0, "bf16": 2.0}
    monkeypatch.setattr(precision, "matmul_flop_rate", lambda device, name, size, seconds: rates[name])
    assert precision.choose(CPU, {"fp32": 2.0, "bf16": 1.0}.__getitem__)[0] == "bf16"
    assert precision.choose(CPU, {"fp32": 1.1, "bf16": 1.0}.__getitem__)[0] == "fp32"
    rates["bf16"] = 0.01
    assert precision.choose(CPU, lambda name: pytest.fail("a step in bf16 would take minutes here"))[0] == "fp32"


def test_fp32_is_chosen_if_torch_has_no_kernel_for_bf16(monkeypatch):
    monkeypatch.setattr(precision, "matmul_flop_rate", lambda device, name, size, seconds: 1.0)

    def step_seconds(name):
        if name == "bf16":
            raise RuntimeError(message)
        return 1.0

    message = "pack_vnni2 is only supported when avx512 is supported"
    name, reason = precision.choose(CPU, step_seconds)
    assert name == "fp32"
    assert message in reason
    message = "shapes cannot be multiplied"
    with pytest.raises(RuntimeError, match="multiplied"):
        precision.choose(CPU, step_seconds)


def test_bf16_trains_and_keeps_its_weights_in_fp32(text):
    run = train_demo(text, "training.precision=bf16", "training.steps=2", "model.layers=1", "evaluation.tokens=64")
    assert all(math.isfinite(loss) for loss in metric_log.column(run.metrics, "loss")[1])
    assert saved_weights(run)["embedding.weight"].dtype == torch.float32


def test_a_less_precise_format_must_be_faster_than_every_more_precise_one(monkeypatch):
    monkeypatch.setattr(precision, "matmul_flop_rate", lambda device, name, size, seconds: 1.0)
    monkeypatch.setattr(precision, "has_tf32", lambda device: True)
    for seconds, chosen in (
        ({"fp32": 3.0, "tf32": 2.0, "bf16": 1.9}, "tf32"),
        ({"fp32": 3.0, "tf32": 2.0, "bf16": 1.0}, "bf16"),
        ({"fp32": 3.0, "tf32": 2.9, "bf16": 2.8}, "fp32"),
    ):
        name, reason = precision.choose(CPU, seconds.__getitem__)
        assert name == chosen
        assert f"{seconds['tf32'] * 1e3:.1f} ms per step in tf32" in reason


def test_tf32_is_fp32_on_a_processor(text):
    overrides = ("training.steps=2", "model.layers=1", "evaluation.tokens=64")
    runs = [train_demo(text, f"training.precision={name}", *overrides, name=name) for name in ("fp32", "tf32")]
    losses = [metric_log.column(run.metrics, "loss")[1] for run in runs]
    assert losses[0] == losses[1]


@needs_cuda
@pytest.mark.parametrize(("name", "least", "most"), [("fp32", 0.0, 1e-6), ("tf32", 1e-5, 1e-3)])
def test_matrix_products_on_a_gpu_are_as_precise_as_the_format_says(name, least, most):
    """In forward and in backward passes, and no longer than asked for."""
    device, generator = torch.device("cuda"), torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=generator, dtype=torch.float64) for _ in range(2))
    exact = a @ b

    def error(product: torch.Tensor, reference: torch.Tensor) -> float:
        return float((product.double().cpu() - reference).norm() / reference.norm())

    first, second = a.float().to(device).requires_grad_(), b.float().to(device)
    with precision.context(name, device):
        product = first @ second
        product.sum().backward()
        assert first.grad is not None
        assert least <= error(product.detach(), exact) <= most
        assert error(first.grad, b.sum(1).expand(256, 256)) <= most
    assert error(first.detach() @ second, exact) <= 1e-6
