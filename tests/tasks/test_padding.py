"""Padded rows: the same as lists of tokens that are joined and padded one by one."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data.shards import Shard
from glasshouse.tasks.padding import Rows, joined, lengths_of, repeated, texts_of

TEXTS = st.lists(st.lists(st.integers(1, 99), max_size=6), min_size=1, max_size=5)


def shard_of(texts: list[list[int]], separator: int | None) -> Shard:
    """A shard that holds these texts in memory."""
    start = [] if separator is None else [separator]
    tokens = [token for text in texts for token in [*start, *text]] + start
    starts = np.cumsum([0, *(len(start) + len(text) for text in texts)])
    shard = Shard(Path(), "train", len(tokens), len(texts), 0, 0, 0, separator, "<u2")
    shard.__dict__.update(tokens=np.array(tokens, "<u2"), starts=starts)
    return shard


def as_lists(rows: Rows) -> list[list[int]]:
    return [row[:length].tolist() for row, length in zip(rows.tokens_NL, rows.lengths_N, strict=True)]


@given(TEXTS, st.sampled_from([None, 0]), st.integers(0, 7), st.data())
def test_texts_are_read_in_any_order_and_truncated(texts, separator, max_length, data):
    if separator is None and not any(texts):
        return  # A split without a token cannot be read.
    shard = shard_of(texts, separator)
    examples = np.array(data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=8)))
    rows = texts_of(shard, examples, max_length)
    assert as_lists(rows) == [texts[example][:max_length] for example in examples]
    assert lengths_of(shard, examples).tolist() == [len(texts[example]) for example in examples]


@given(st.lists(TEXTS, min_size=1, max_size=3).filter(lambda parts: len({len(part) for part in parts}) == 1))
def test_parts_are_joined_row_by_row_and_padded_with_zeros(parts):
    every = np.arange(len(parts[0]))
    rows = joined(*(texts_of(shard_of(part, 0), every, 99) for part in parts))
    expected = [[token for part in parts for token in part[row]] for row in every]
    assert as_lists(rows) == expected
    assert rows.tokens_NL.shape[1] == max(map(len, expected))
    assert not rows.tokens_NL[~rows.is_token_NL].any()


def test_the_same_tokens_in_every_row():
    assert as_lists(repeated([7, 8], 3)) == [[7, 8]] * 3
    assert as_lists(joined(repeated([], 2), repeated([5], 2))) == [[5], [5]]
