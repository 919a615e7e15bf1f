"""Unscaled attention: softmax(Q K^T) V, by the fused and by the plain computation."""

import pytest
import torch

from glasshouse.inspection.capture import capture
from glasshouse.parts import MultiHeadAttention, UnscaledAttention
from glasshouse.parts.masks import Causal


@pytest.mark.parametrize("head_width", [0, 3])
def test_scores_are_plain_products_of_queries_and_keys(head_width):
    torch.manual_seed(0)
    attention = UnscaledAttention(8, 2, head_width=head_width)
    x = torch.randn(2, 5, 8)
    with capture(attention, "scores", "queries", "keys") as seen:
        plain = attention(x, Causal())
    assert torch.allclose(seen["scores"], seen["queries"] @ seen["keys"].transpose(-2, -1), atol=1e-5)
    assert torch.allclose(attention(x, Causal()), plain, atol=1e-5)


def test_it_is_scaled_attention_with_larger_queries():
    torch.manual_seed(0)
    unscaled, scaled = UnscaledAttention(8, 2), MultiHeadAttention(8, 2)
    scaled.load_state_dict(unscaled.state_dict())
    x = torch.randn(2, 5, 8)
    assert not torch.allclose(unscaled(x), scaled(x), atol=1e-3)
    with torch.no_grad():
        scaled.projection.weight[:8] *= 2.0  # the square root of a head width of 4
        scaled.projection.bias[:8] *= 2.0
    assert torch.allclose(unscaled(x), scaled(x), atol=1e-5)
