"""Each kind of attention against its own formula, computed another way."""

import math

import pytest
import torch

from glasshouse import parts


def inputs(attention, x):
    rows = attention._parts
    return [attention._split(part) for part in attention.projection(x).split(rows, dim=-1)]


def joined(attention, mixed):
    return attention.output(mixed.transpose(1, 2).flatten(2))


def test_additive_scores_each_pair_by_a_small_network():
    attention = parts.AdditiveAttention(width=8, heads=2)
    x = torch.randn(2, 5, 8)
    queries, keys, values = inputs(attention, x)
    scores = torch.zeros(2, 2, 5, 5)
    for h in range(2):
        for i in range(5):
            for j in range(5):
                scores[:, h, i, j] = torch.tanh(queries[:, h, i] + keys[:, h, j]) @ attention.scorer[h]
    expected = joined(attention, scores.softmax(-1) @ values)
    torch.testing.assert_close(attention(x, parts.Everything(), torch.arange(5)), expected, rtol=1e-5, atol=1e-5)


def test_grouped_queries_share_keys_and_values():
    grouped = parts.GroupedQueryAttention(width=12, heads=6, key_value_heads=2)
    whole = parts.MultiHeadAttention(width=12, heads=6)
    queries, keys, values = grouped.projection.weight.split(grouped._parts)
    with torch.no_grad():  # each group's rows, written out once for each of its heads
        spread = [part.unflatten(0, (2, 2)).repeat_interleave(3, 0).flatten(0, 1) for part in (keys, values)]
        whole.projection.weight.copy_(torch.cat([queries, *spread]))
        bias = grouped.projection.bias.split(grouped._parts)
        spread = [part.unflatten(0, (2, 2)).repeat_interleave(3, 0).flatten(0, 1) for part in bias[1:]]
        whole.projection.bias.copy_(torch.cat([bias[0], *spread]))
        whole.output.load_state_dict(grouped.output.state_dict())
    x = torch.randn(2, 7, 12)
    for mask in (parts.Causal(), parts.Everything()):
        torch.testing.assert_close(grouped(x, mask, torch.arange(7)), whole(x, mask, torch.arange(7)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [3, 4, 5, 11, 16, 33])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("position", [None, "alibi", "relative"])
def test_a_window_by_chunks_equals_a_window_by_mask(length, causal, position):
    made = {None: None, "alibi": parts.Alibi(2), "relative": parts.RelativeBias(8, 2)}[position]
    window = parts.LocalAttention(8, 2, 4, position=made)
    dense = parts.MultiHeadAttention(8, 2, position=made)
    dense.load_state_dict(window.state_dict())
    x = torch.randn(3, length, 8)
    mask = (parts.Causal() if causal else parts.Everything()) & parts.Padding(torch.tensor([length, 1, 3]))
    torch.testing.assert_close(
        window(x, mask, torch.arange(length)),
        dense(x, mask & parts.Window(4), torch.arange(length)),
        rtol=1e-5,
        atol=1e-5,
    )


def test_linformer_mixes_keys_and_values_first():
    attention = parts.LinformerAttention(8, 2, 10, 3)
    x = torch.randn(2, 6, 8)
    queries, keys, values = inputs(attention, x)
    keys, values = attention.key_mixture[:, :6] @ keys, attention.value_mixture[:, :6] @ values
    weights = (queries @ keys.transpose(-2, -1) / math.sqrt(4)).softmax(-1)
    torch.testing.assert_close(
        attention(x, parts.Everything(), torch.arange(6)), joined(attention, weights @ values), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("mask", [parts.Causal(), parts.Everything()])
@pytest.mark.parametrize("length", [5, 32, 70])
def test_performer_comes_close_to_the_softmax_it_stands_for(mask, length):
    torch.manual_seed(0)
    performer = parts.PerformerAttention(16, 2, 4096)
    softmax = parts.MultiHeadAttention(16, 2)
    softmax.load_state_dict({name: value for name, value in performer.state_dict().items() if name != "features"})
    x = torch.randn(2, length, 16) / 2  # the error grows with exp |q + k|^2: for longer ones many more features are needed
    near, exact = performer(x, mask, torch.arange(length)), softmax(x, mask, torch.arange(length))
    assert (near - exact).norm() / exact.norm() < 0.03
    few = parts.PerformerAttention(16, 2, 8)
    few.load_state_dict({**performer.state_dict(), "features": few.features})
    assert (few(x, mask, torch.arange(length)) - exact).norm() > 2 * (near - exact).norm(), "more features come closer"


def test_cross_attention_looks_at_another_sequence():
    cross = parts.CrossAttention(parts.MultiHeadAttention(8, 2))
    attention = cross.attention
    x, source = torch.randn(2, 3, 8), torch.randn(2, 6, 8)
    queries = attention._split(attention.projection(x).split(8, -1)[0])
    keys, values = (attention._split(part) for part in attention.projection(source).split(8, -1)[1:])
    weights = (queries @ keys.transpose(-2, -1) / 2).softmax(-1)
    torch.testing.assert_close(
        cross(x, parts.Memory(source), torch.arange(3)), joined(attention, weights @ values), rtol=1e-5, atol=1e-5
    )
    padded = torch.cat([source, torch.randn(2, 2, 8)], 1)
    torch.testing.assert_close(
        cross(x, parts.Memory(padded, torch.tensor([6, 6])), torch.arange(3)),
        cross(x, parts.Memory(source), torch.arange(3)),
        rtol=1e-5,
        atol=1e-5,
    )
