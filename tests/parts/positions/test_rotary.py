"""Rotary positions: relative for dot products, absolute for additive attention."""

import pytest
import torch

from glasshouse import parts


def test_rotary_scores_depend_on_distance_alone():
    rotary = parts.Rotary(head_width=8)
    query, key = torch.randn(8), torch.randn(8)

    def score(i, j):
        rotated_query = rotary.rotate(query.expand(1, 1, 1, 8), torch.tensor([i]))
        rotated_key = rotary.rotate(key.expand(1, 1, 1, 8), torch.tensor([j]))
        return (rotated_query * rotated_key).sum()

    torch.testing.assert_close(score(3, 1), score(103, 101), rtol=1e-4, atol=1e-4)
    assert not torch.isclose(score(3, 1), score(4, 1))


@pytest.mark.parametrize(("kind", "distance_alone"), [(parts.MultiHeadAttention, True), (parts.AdditiveAttention, False)])
def test_rotary_is_relative_in_dot_products_and_absolute_in_additive_attention(kind, distance_alone):
    torch.manual_seed(0)
    attention = kind(width=16, heads=2, position=parts.Rotary(head_width=8))
    x, positions = torch.randn(1, 6, 16), torch.arange(6)
    first, shifted = (attention(x, parts.Causal(), positions + start) for start in (0, 7))
    assert torch.allclose(first, shifted, rtol=1e-4, atol=1e-4) is distance_alone
    order = torch.tensor([1, 0, 2, 3, 4, 5])
    swapped = attention(x[:, order], parts.Everything(), positions)[:, order]
    assert not torch.allclose(swapped, attention(x, parts.Everything(), positions), atol=1e-3), "order is visible"
