"""Activation kernels equal torch's operations, in values and gradients, on one thread and on two."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from glasshouse import cpu_kernels
from tests.cpu_kernels.comparison import largest_difference, normal

# Neither a multiple of what a processor computes at once, nor of the threads.
SHAPE = (7, 13, 187)


@pytest.mark.parametrize("threads", [1, 2])
def test_activations_equal_those_of_torch(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x, other = normal(*SHAPE, scale=3.0), normal(*SHAPE[::-1], scale=3.0).permute(2, 1, 0)
        assert largest_difference(cpu_kernels.swiglu, lambda gate, up: F.silu(gate) * up, x, other) < 1e-6
        assert largest_difference(cpu_kernels.gelu, lambda x: F.gelu(x, approximate="tanh"), x) < 2e-6
        assert largest_difference(cpu_kernels.squared_relu, lambda x: F.relu(x).square(), x) < 1e-6
    finally:
        torch.set_num_threads(before)


def test_activations_are_computed_again_where_they_are_not_stored():
    x, other = normal(*SHAPE).requires_grad_(), normal(*SHAPE).requires_grad_()
    for function, inputs in ((cpu_kernels.swiglu, (x, other)), (cpu_kernels.gelu, (x,)), (cpu_kernels.squared_relu, (x,))):
        again = checkpoint(function, *inputs, use_reentrant=False)
        for one, two in zip(*(torch.autograd.grad(y.sum(), inputs) for y in (function(*inputs), again)), strict=True):
            assert torch.equal(one, two)


@pytest.mark.parametrize("name", ["gelu", "squared_relu"])
def test_what_is_not_finite_stays_visible(name):
    x = torch.zeros(40, requires_grad=True)
    with torch.no_grad():
        x[3], x[5] = math.nan, math.inf
    y = getattr(cpu_kernels, name)(x)
    y.sum().backward()
    assert y[3].isnan()
    assert y[5] == math.inf
    assert x.grad is not None
    assert x.grad[3].isnan()


def test_large_inputs_saturate():
    x = torch.tensor([-1e4, -100.0, 0.0, 100.0, 1e4], requires_grad=True)
    y = cpu_kernels.gelu(x)
    y.sum().backward()
    torch.testing.assert_close(y, torch.tensor([0.0, 0.0, 0.0, 100.0, 1e4]), atol=1e-30, rtol=1e-6)
    torch.testing.assert_close(x.grad, torch.tensor([0.0, 0.0, 0.5, 1.0, 1.0]), atol=1e-6, rtol=1e-6)
