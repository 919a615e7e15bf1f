"""Multi-head attention against a loop over heads, and its invariance to the order of the tokens."""

import math

import torch

from glasshouse import parts


def test_heads_together_equal_a_loop_over_heads():
    attention = parts.MultiHeadAttention(width=12, heads=3)
    x = torch.randn(2, 5, 12)
    together = attention(x, parts.Causal(), torch.arange(5))
    queries, keys, values = attention.projection(x).chunk(3, dim=-1)
    outputs = []
    for head in range(3):
        columns = slice(4 * head, 4 * head + 4)
        scores = queries[..., columns] @ keys[..., columns].transpose(1, 2) / math.sqrt(4)
        weights = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf).softmax(-1)
        outputs.append(weights @ values[..., columns])
    torch.testing.assert_close(together, attention.output(torch.cat(outputs, -1)), rtol=1e-5, atol=1e-5)


def test_without_a_mask_order_is_invisible():
    attention = parts.MultiHeadAttention(width=8, heads=2)
    x, order = torch.randn(1, 6, 8), torch.randperm(6)
    positions = torch.arange(6)
    in_order = attention(x, parts.Everything(), positions)
    torch.testing.assert_close(attention(x[:, order], parts.Everything(), positions), in_order[:, order])
