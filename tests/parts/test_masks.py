"""Masks: what each allows, how they combine, and attention under them against a loop over rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glasshouse import parts
from glasshouse.inspection.capture import capture


def dense(mask, length, batch=1):
    positions = torch.arange(length)
    allowed = mask.allowed(positions, positions)
    return torch.ones(batch, length, length, dtype=torch.bool) if allowed is None else allowed.expand(batch, length, length)


@given(st.integers(1, 9), st.lists(st.integers(0, 9), min_size=1, max_size=3), st.integers(1, 9))
def test_each_mask_allows_what_its_rule_allows(length, lengths, window):
    counts = torch.tensor(lengths)
    causal, near = parts.Causal(), parts.Window(window)
    padded, prefixed = parts.Padding(counts), causal | parts.Prefix(counts)
    masks = (causal, near, padded, prefixed, causal & padded & near)
    allowed = [dense(mask, length, len(lengths)).tolist() for mask in masks]
    for row, real in enumerate(lengths):
        for i in range(length):
            for j in range(length):
                expected = [j <= i, abs(i - j) < window, j < real, j <= i or j < real]
                expected.append(j <= i and j < real and abs(i - j) < window)
                assert [mask[row][i][j] for mask in allowed] == expected


def test_masks_combine():
    class Near(parts.Mask):
        def allowed(self, queries, keys):
            return queries[..., :, None] - keys[..., None, :] < 2

    positions = torch.arange(4)
    both = (parts.Causal() & Near()).allowed(positions, positions)
    assert both.tolist() == (torch.ones(4, 4).tril() - torch.ones(4, 4).tril(-2)).bool().tolist()
    assert (parts.Everything() & parts.Everything()).allowed(positions, positions) is None
    assert not (parts.Causal() & Near()).lower_triangular


def test_which_masks_are_causal():
    lengths = torch.tensor([2])
    assert (parts.Causal() & parts.Padding(lengths)).causal
    assert not (parts.Causal() | parts.Prefix(lengths)).causal
    assert not parts.Window(3).causal
    assert parts.Causal().lower_triangular
    assert not (parts.Causal() & parts.Window(3)).lower_triangular


@pytest.mark.parametrize("mask", ["prefix", "window", "padding", "causal window padding"])
def test_attention_under_a_mask_equals_a_loop_over_rows(mask):
    lengths = torch.tensor([4, 0, 7])
    mask = {
        "prefix": parts.Causal() | parts.Prefix(lengths),
        "window": parts.Window(2),
        "padding": parts.Padding(lengths),
        "causal window padding": parts.Causal() & parts.Window(3) & parts.Padding(lengths),
    }[mask]
    attention = parts.MultiHeadAttention(width=8, heads=2, position=parts.Alibi(heads=2))
    x = torch.randn(3, 7, 8)
    output = attention(x, mask, torch.arange(7))
    with capture(attention, "queries", "keys", "values", "mixed") as captured:
        attention(x, mask, torch.arange(7))
    allowed = dense(mask, 7, 3)
    for b in range(3):
        for h in range(2):
            for i in range(7):
                keys = allowed[b, i].nonzero()[:, 0]
                if len(keys) == 0:
                    assert torch.equal(captured["mixed"][b, h, i], torch.zeros(4))
                    continue
                bias = -(2.0 ** (-4 * (h + 1))) * (keys - i).abs()
                scores = captured["keys"][b, h, keys] @ captured["queries"][b, h, i] / 2 + bias
                expected = scores.softmax(0) @ captured["values"][b, h, keys]
                torch.testing.assert_close(captured["mixed"][b, h, i], expected, rtol=1e-4, atol=1e-5)
    assert output.isfinite().all()
