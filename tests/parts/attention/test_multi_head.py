"""Multi-head attention against a loop over heads, and its invariances; query-key norm and capped scores."""

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


def test_query_key_norm_divides_queries_and_keys_by_their_root_mean_square():
    plain = parts.MultiHeadAttention(width=12, heads=3, position=parts.Rotary(4))
    normalised = parts.MultiHeadAttention(width=12, heads=3, position=parts.Rotary(4), query_key_norm=True)
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
    attention = parts.MultiHeadAttention(width=12, heads=3, bias=False, query_key_norm=True)
    x = torch.randn(2, 5, 12)
    output = attention(x, parts.Causal())
    with torch.no_grad():
        attention.projection.weight[:24].mul_(10)
    torch.testing.assert_close(attention(x, parts.Causal()), output, rtol=1e-2, atol=1e-3)


def test_capped_scores_are_bounded_before_the_bias_of_positions_is_added():
    attention = parts.MultiHeadAttention(width=12, heads=3, position=parts.Alibi(3), softcap=0.5)
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
    plain = parts.MultiHeadAttention(width=12, heads=3)
    capped = parts.MultiHeadAttention(width=12, heads=3, softcap=1e4)
    capped.load_state_dict(plain.state_dict())
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(capped(x, parts.Causal()), plain(x, parts.Causal()), rtol=1e-4, atol=1e-5)
