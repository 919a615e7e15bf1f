"""Performer against the softmax attention that it approximates."""

import pytest
import torch

from glasshouse import parts


@pytest.mark.parametrize("mask", [parts.Causal(), parts.Everything()])
@pytest.mark.parametrize("length", [5, 32, 70])
def test_performer_approximates_softmax_attention(mask, length):
    torch.manual_seed(0)
    performer = parts.PerformerAttention(16, 2, 4096)
    softmax = parts.MultiHeadAttention(16, 2)
    softmax.load_state_dict({name: value for name, value in performer.state_dict().items() if name != "features"})
    x = torch.randn(2, length, 16) / 2  # the error grows with exp |q + k|^2, so larger inputs need many more features
    approximate, exact = performer(x, mask, torch.arange(length)), softmax(x, mask, torch.arange(length))
    assert (approximate - exact).norm() / exact.norm() < 0.03
    few = parts.PerformerAttention(16, 2, 8)
    few.load_state_dict({**performer.state_dict(), "features": few.features})
    error = (few(x, mask, torch.arange(length)) - exact).norm()
    assert error > 2 * (approximate - exact).norm(), "more features are more accurate"
