"""Masks: what each allows, how they compose, and attention under them against a loop over rows."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse import parts
from glasshouse.inspection.capture import capture


def dense(mask, length, batch=1):
    positions = torch.arange(length)
    allowed = mask.allowed(positions, positions)
    return torch.ones(batch, length, length, dtype=torch.bool) if allowed is None else allowed.expand(batch, length, length)


@given(st.integers(1, 9), st.lists(st.integers(0, 9), min_size=1, max_size=3), st.integers(1, 9))
@settings(deadline=None)
def test_each_mask_says_what_its_rule_says(length, lengths, window):
    counts = torch.tensor(lengths)
    causal, near = parts.Causal(), parts.Window(window)
    padded, prefixed = parts.Padding(counts), causal | parts.Prefix(counts)
    for row, real in enumerate(lengths):
        for i in range(length):
            for j in range(length):
                assert dense(causal, length)[0, i, j] == (j <= i)
                assert dense(near, length)[0, i, j] == (abs(i - j) < window)
                assert dense(padded, length, len(lengths))[row, i, j] == (j < real)
                assert dense(prefixed, length, len(lengths))[row, i, j] == (j <= i or j < real)
                both = dense(causal & padded & near, length, len(lengths))
                assert both[row, i, j] == (j <= i and j < real and abs(i - j) < window)


def test_whether_a_mask_looks_ahead():
    lengths = torch.tensor([2])
    assert (parts.Causal() & parts.Padding(lengths)).causal
    assert not (parts.Causal() | parts.Prefix(lengths)).causal
    assert not parts.Window(3).causal
    assert parts.Causal().plainly_causal
    assert not (parts.Causal() & parts.Window(3)).plainly_causal


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
    with capture(attention, "queries", "keys", "values", "mixed") as seen:
        attention(x, mask, torch.arange(7))
    allowed = dense(mask, 7, 3)
    for b in range(3):
        for h in range(2):
            for i in range(7):
                keys = allowed[b, i].nonzero()[:, 0]
                if len(keys) == 0:
                    assert torch.equal(seen["mixed"][b, h, i], torch.zeros(4))
                    continue
                scores = seen["keys"][b, h, keys] @ seen["queries"][b, h, i] / 2 - 2.0 ** (-4 * (h + 1)) * (keys - i).abs()
                expected = scores.softmax(0) @ seen["values"][b, h, keys]
                torch.testing.assert_close(seen["mixed"][b, h, i], expected, rtol=1e-4, atol=1e-5)
    assert output.isfinite().all()
