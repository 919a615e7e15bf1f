"""Scaled dot-product attention: fully masked rows, and masked weights in every number format."""

import pytest
import torch

from glasshouse.parts.attention import scaled_dot_product


def test_a_fully_masked_row_gives_zeros_and_no_nan():
    scores = torch.randn(1, 1, 3, 4, requires_grad=True)
    allowed = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    weights = scaled_dot_product.weights(scores, allowed)
    torch.testing.assert_close(weights.sum(-1), torch.tensor([[[1.0, 0.0, 1.0]]]))
    weights.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    values = torch.randn(1, 1, 4, 8)
    fused = scaled_dot_product.fused(torch.randn(1, 1, 3, 8), torch.randn(1, 1, 4, 8), values, allowed, None, False, 0.0)
    assert torch.equal(fused[0, 0, 1], torch.zeros(8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_masked_weights_are_exactly_zero_in_every_format(dtype):
    weights = scaled_dot_product.weights(torch.randn(2, 3, 3).to(dtype) * 50, torch.ones(3, 3, dtype=torch.bool).tril())
    assert torch.equal(weights.triu(1), torch.zeros_like(weights))
    assert weights.isfinite().all()
