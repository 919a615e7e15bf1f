"""Dot-product attentions against a loop over heads, and their invariances; query-key norm, capped scores, shared keys."""

import math

import pytest
import torch

from glasshouse import parts
from glasshouse.inspection.capture import capture
from glasshouse.parts import GroupedQueryAttention, MultiHeadAttention, UnscaledAttention
from glasshouse.parts.masks import Causal


def test_heads_together_equal_a_loop_over_heads():
    attention = MultiHeadAttention(width=12, heads=3)
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
    attention = MultiHeadAttention(width=8, heads=2)
    x, order = torch.randn(1, 6, 8), torch.randperm(6)
    positions = torch.arange(6)
    in_order = attention(x, parts.Everything(), positions)
    torch.testing.assert_close(attention(x[:, order], parts.Everything(), positions), in_order[:, order])


def test_query_key_norm_divides_queries_and_keys_by_their_root_mean_square():
    plain = MultiHeadAttention(width=12, heads=3, position=parts.Rotary(4))
    normalised = MultiHeadAttention(width=12, heads=3, position=parts.Rotary(4), query_key_norm=True)
    normalised.load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad():
        normalised.query_norm.weight.copy_(torch.tensor([1.0, 2.0, 0.5, 3.0]))
    x, positions = 10 * torch.randn(2, 5, 12), torch.arange(5)
    queries, keys, values = (part.unflatten(-1, (3, 4)).transpose(1, 2) for part in plain.projection(x).chunk(3, dim=-1))
    queries = queries / (queries.square().mean(-1, keepdim=True) + 1e-5).sqrt() * normalised.query_norm.weight
    keys = keys / (keys.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    queries, keys = (plain.position.rotate(part, positions) for part in (queries, keys))
    weights = (queries @ keys.mT / 2).masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf).softmax(-1)
    expected = plain.output((weights @ values).transpose(1, 2).flatten(2))
    for normalised.plain in (False, True):
        torch.testing.assert_close(normalised(x, parts.Causal(), positions), expected, rtol=1e-4, atol=1e-4)


def test_normalised_queries_and_keys_do_not_depend_on_their_size():
    attention = MultiHeadAttention(width=12, heads=3, bias=False, query_key_norm=True)
    x = torch.randn(2, 5, 12)
    output = attention(x, parts.Causal())
    with torch.no_grad():
        attention.projection.weight[:24].mul_(10)
    torch.testing.assert_close(attention(x, parts.Causal()), output, rtol=1e-2, atol=1e-3)


def test_capped_scores_are_bounded_before_the_bias_of_positions_is_added():
    attention = MultiHeadAttention(width=12, heads=3, position=parts.Alibi(3), attention_softcap=0.5)
    x, positions = 10 * torch.randn(2, 5, 12), torch.arange(5)
    queries, keys, values = (part.unflatten(-1, (3, 4)).transpose(1, 2) for part in attention.projection(x).chunk(3, dim=-1))
    scores = queries @ keys.mT / 2
    assert scores.abs().max() > 1
    scores = 0.5 * torch.tanh(scores / 0.5) + attention.position.bias(positions, positions)
    weights = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf).softmax(-1)
    expected = attention.output((weights @ values).transpose(1, 2).flatten(2))
    for attention.plain in (False, True):
        torch.testing.assert_close(attention(x, parts.Causal(), positions), expected, rtol=1e-5, atol=1e-5)


def test_a_large_cap_changes_nothing():
    plain = MultiHeadAttention(width=12, heads=3)
    capped = MultiHeadAttention(width=12, heads=3, attention_softcap=1e4)
    capped.load_state_dict(plain.state_dict())
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(capped(x, parts.Causal()), plain(x, parts.Causal()), rtol=1e-4, atol=1e-5)


def test_grouped_queries_share_keys_and_values():
    grouped = GroupedQueryAttention(width=12, heads=6, key_value_heads=2)
    multi_head = MultiHeadAttention(width=12, heads=6)
    queries, keys, values = grouped.projection.weight.split(grouped.projection_sizes)
    with torch.no_grad():  # the rows of a group are repeated for each of its heads
        repeated = [rows.unflatten(0, (2, 2)).repeat_interleave(3, 0).flatten(0, 1) for rows in (keys, values)]
        multi_head.projection.weight.copy_(torch.cat([queries, *repeated]))
        bias = grouped.projection.bias.split(grouped.projection_sizes)
        repeated = [rows.unflatten(0, (2, 2)).repeat_interleave(3, 0).flatten(0, 1) for rows in bias[1:]]
        multi_head.projection.bias.copy_(torch.cat([bias[0], *repeated]))
        multi_head.output.load_state_dict(grouped.output.state_dict())
    x, positions = torch.randn(2, 7, 12), torch.arange(7)
    for mask in (parts.Causal(), parts.Everything()):
        expected = multi_head(x, mask, positions)
        torch.testing.assert_close(grouped(x, mask, positions), expected, rtol=1e-5, atol=1e-5)


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
