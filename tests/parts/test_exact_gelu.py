"""Exact GELU: the fast backward pass gives the derivative of torch's own function."""

import torch
import torch.nn.functional as F

from glasshouse.parts import exact_gelu
from glasshouse.parts.exact_gelu import _ExactGELU


def test_the_backward_pass_equals_that_of_torch():
    x = torch.linspace(-8, 8, 401, requires_grad=True)
    gradient = torch.linspace(1, 2, 401)
    (ours,) = torch.autograd.grad(_ExactGELU.apply(x), x, gradient)
    (theirs,) = torch.autograd.grad(F.gelu(x), x, gradient)
    torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=0)
    assert torch.equal(_ExactGELU.apply(x), F.gelu(x))


def test_it_can_be_differentiated_twice_and_vectorised():
    x = torch.randn(6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(_ExactGELU.apply, (x,))
    batch = torch.randn(3, 4)
    derivative = torch.func.grad(lambda row: _ExactGELU.apply(row).sum())
    torch.testing.assert_close(torch.vmap(derivative)(batch), torch.stack([derivative(row) for row in batch]))


def test_it_is_used_only_where_it_is_faster(monkeypatch):
    x = torch.randn(4, requires_grad=True)
    for on_arm, name in ((True, "_ExactGELUBackward"), (False, "GeluBackward0")):
        monkeypatch.setattr(exact_gelu, "ON_ARM", on_arm)
        assert type(exact_gelu.exact_gelu(x).grad_fn).__name__ == name
