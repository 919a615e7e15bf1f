"""Cross-attention against its formula, and padding of the source."""

import torch

from glasshouse import parts
from tests.parts.attention import projections


def test_cross_attention_attends_to_another_sequence():
    cross = parts.CrossAttention(parts.MultiHeadAttention(8, 2))
    attention = cross.attention
    x, source = torch.randn(2, 3, 8), torch.randn(2, 6, 8)
    queries = projections.project(attention, x)[0]
    keys, values = projections.project(attention, source)[1:]
    weights = (queries @ keys.transpose(-2, -1) / 2).softmax(-1)
    expected = projections.output(attention, weights @ values)
    torch.testing.assert_close(cross(x, parts.Memory(source), torch.arange(3)), expected, rtol=1e-5, atol=1e-5)
    padded = torch.cat([source, torch.randn(2, 2, 8)], 1)
    torch.testing.assert_close(
        cross(x, parts.Memory(padded, torch.tensor([6, 6])), torch.arange(3)),
        cross(x, parts.Memory(source), torch.arange(3)),
        rtol=1e-5,
        atol=1e-5,
    )
