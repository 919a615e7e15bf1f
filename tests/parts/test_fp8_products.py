"""Products in 8 bits: scales, rounding, and a linear layer with its gradients."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.parts import fp8_products
from glasshouse.parts.linear import Linear
from tests.needs import needs_cuda

DEVICES = ["cpu", pytest.param("cuda", marks=needs_cuda)]


def relative(value: torch.Tensor, exact: torch.Tensor) -> float:
    return float((value.float() - exact.float()).norm() / exact.float().norm())


@pytest.mark.parametrize("scaled", [fp8_products.scaled_rows, fp8_products.scaled_whole])
@given(numbers=st.lists(st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False), min_size=1, max_size=40))
def test_a_number_is_rounded_by_a_sixteenth_of_it_or_less(scaled, numbers):
    row = torch.tensor([numbers])
    values, scale = scaled(row)
    assert values.dtype == torch.float8_e4m3fn
    error = (values.float() * scale - row).abs()
    # The last term is half a step of the smallest numbers of the format.
    assert bool((error <= row.abs() / 16 + scale * 2.0**-10).all())


def test_a_number_that_is_not_finite_does_not_become_finite():
    row = torch.ones(2, 16)
    row[0, 3], row[1, 4] = torch.inf, torch.nan
    values, scale = fp8_products.scaled_rows(row)
    assert not bool((values.float() * scale).isfinite().all(1).any())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bias", [False, True])
def test_a_layer_and_its_gradients_are_those_of_bfloat16_up_to_rounding(device, bias):
    torch.manual_seed(0)
    layer = Linear(64, 96, bias=bias, device=device)
    x = torch.randn(3, 32, 64, device=device, requires_grad=True)
    gradient = torch.randn(3, 32, 96, device=device)
    results = {}
    for layer.fp8 in (False, True):
        x.grad = layer.weight.grad = None
        with torch.autocast(device, torch.bfloat16):
            output = layer(x)
        output.backward(gradient.to(output.dtype))
        results[layer.fp8] = output.detach(), x.grad, layer.weight.grad
    errors = [relative(*pair) for pair in zip(results[True], results[False], strict=True)]
    assert max(errors[:2]) < 0.05
    assert min(errors[:2]) > 0.005, "the factors have 8 bits"
    assert errors[2] < 0.005, "the gradient of the weights is computed in bfloat16"


def test_only_training_in_bfloat16_computes_in_8_bits():
    layer, x = Linear(16, 32), torch.randn(4, 16)
    layer.fp8 = True
    assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias)), "float32"
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias)), "an evaluation"


def test_frozen_weights_have_no_gradient():
    layer, x = Linear(16, 32).requires_grad_(False), torch.randn(4, 16, requires_grad=True)
    layer.fp8 = True
    with torch.autocast("cpu", torch.bfloat16):
        layer(x).sum().backward()
    assert layer.weight.grad is None
    assert x.grad is not None
