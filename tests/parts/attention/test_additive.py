"""Additive attention against a loop over query-key pairs."""

import torch

from glasshouse import parts
from tests.parts.attention import projections


def test_additive_scores_each_pair_by_a_small_network():
    attention = parts.AdditiveAttention(width=8, heads=2)
    x = torch.randn(2, 5, 8)
    queries, keys, values = projections.project(attention, x)
    scores = torch.zeros(2, 2, 5, 5)
    for h in range(2):
        for i in range(5):
            for j in range(5):
                scores[:, h, i, j] = torch.tanh(queries[:, h, i] + keys[:, h, j]) @ attention.scorer[h]
    expected = projections.output(attention, scores.softmax(-1) @ values)
    torch.testing.assert_close(attention(x, parts.Everything(), torch.arange(5)), expected, rtol=1e-5, atol=1e-5)
