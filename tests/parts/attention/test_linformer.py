"""Linformer against its formula."""

import math

import torch

from glasshouse import parts
from tests.parts.attention import projections


def test_linformer_mixes_keys_and_values_first():
    attention = parts.LinformerAttention(8, 2, 10, 3)
    x = torch.randn(2, 6, 8)
    queries, keys, values = projections.project(attention, x)
    keys, values = attention.key_mixture[:, :6] @ keys, attention.value_mixture[:, :6] @ values
    weights = (queries @ keys.transpose(-2, -1) / math.sqrt(4)).softmax(-1)
    expected = projections.output(attention, weights @ values)
    torch.testing.assert_close(attention(x, parts.Everything(), torch.arange(6)), expected, rtol=1e-5, atol=1e-5)
