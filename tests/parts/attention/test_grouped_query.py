"""Grouped-query attention against multi-head attention with repeated keys and values."""

import torch

from glasshouse import parts


def test_grouped_queries_share_keys_and_values():
    grouped = parts.GroupedQueryAttention(width=12, heads=6, key_value_heads=2)
    multi_head = parts.MultiHeadAttention(width=12, heads=6)
    queries, keys, values = grouped.projection.weight.split(grouped._projection_sizes)
    with torch.no_grad():  # the rows of a group are repeated for each of its heads
        repeated = [rows.unflatten(0, (2, 2)).repeat_interleave(3, 0).flatten(0, 1) for rows in (keys, values)]
        multi_head.projection.weight.copy_(torch.cat([queries, *repeated]))
        bias = grouped.projection.bias.split(grouped._projection_sizes)
        repeated = [rows.unflatten(0, (2, 2)).repeat_interleave(3, 0).flatten(0, 1) for rows in bias[1:]]
        multi_head.projection.bias.copy_(torch.cat([bias[0], *repeated]))
        multi_head.output.load_state_dict(grouped.output.state_dict())
    x, positions = torch.randn(2, 7, 12), torch.arange(7)
    for mask in (parts.Causal(), parts.Everything()):
        expected = multi_head(x, mask, positions)
        torch.testing.assert_close(grouped(x, mask, positions), expected, rtol=1e-5, atol=1e-5)
