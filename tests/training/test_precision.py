"""Number formats: training in bfloat16, and the precision of matrix products."""

import math
import platform

import pytest
import torch

from glasshouse.records import machine, metric_log
from glasshouse.specs.errors import SpecError
from glasshouse.training import precision
from tests.needs import needs_cuda
from tests.training.small_runs import saved_weights, train_demo


def test_bf16_trains_and_keeps_its_weights_in_fp32(text):
    run = train_demo(text, "training.precision=bf16", "training.steps=2", "model.layers=1", "evaluation.tokens=64")
    assert all(math.isfinite(loss) for loss in metric_log.column(run.metrics, "loss")[1])
    assert saved_weights(run)["embedding.weight"].dtype == torch.float32


def test_tf32_is_fp32_on_a_processor(text):
    overrides = ("training.steps=2", "model.layers=1", "evaluation.tokens=64")
    runs = [train_demo(text, f"training.precision={name}", *overrides, name=name) for name in ("fp32", "tf32")]
    losses = [metric_log.column(run.metrics, "loss")[1] for run in runs]
    assert losses[0] == losses[1]


def test_onednn_is_off_where_it_is_slow_and_nowhere_else(monkeypatch):
    """In forward and in backward passes, and no longer than asked for. Either library gives the same."""
    before, cpu = torch.backends.mkldnn.enabled, torch.device("cpu")
    found = []
    for slow in (True, False):
        monkeypatch.setattr(precision, "onednn_is_slow", lambda slow=slow: slow)
        factors = [torch.linspace(-1, 1, 24 * 20).view(24, 20).sin().requires_grad_() for _ in range(2)]
        enabled: list[bool] = []
        factors[1].register_hook(lambda gradient, enabled=enabled: enabled.append(torch.backends.mkldnn.enabled))
        with precision.float32_products("fp32", cpu):
            with precision.context("fp32", cpu):
                enabled.append(torch.backends.mkldnn.enabled)
                product = factors[0] @ factors[1].T
            gradients = torch.autograd.grad(product.square().sum(), factors)
        assert enabled == [before and not slow] * 2
        assert torch.backends.mkldnn.enabled == before
        found.append((product.detach(), *gradients))
    torch.testing.assert_close(*found)


def test_onednn_is_slow_on_arm_processors_without_bfloat16(monkeypatch):
    for name, instructions, slow in (
        ("aarch64", {"asimd"}, True),
        ("aarch64", {"asimd", "bf16"}, False),
        ("x86_64", {"avx2"}, False),
    ):
        monkeypatch.setattr(platform, "machine", lambda name=name: name)
        monkeypatch.setattr(machine, "instructions", lambda instructions=instructions: instructions)
        assert precision.onednn_is_slow() == slow


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


@pytest.mark.parametrize(("number_format", "kind"), [("bf16", SpecError), ("fp32", SpecError)])
def test_products_in_8_bits_are_refused_where_there_are_none(number_format, kind, text):
    with pytest.raises(SpecError) as refused:
        train_demo(text, "training.fp8_products=true", f"training.precision={number_format}")
    assert isinstance(refused.value, kind)
