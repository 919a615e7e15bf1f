"""Rows of different lengths in one array, padded at the end. Every function handles a whole batch without a loop over rows.

Axes: N rows, L columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from glasshouse.data.shards import Shard
from glasshouse.specs.spec_fields import setting


@dataclass(frozen=True)
class GroupByLength:
    """The setting of tasks whose batches are padded."""

    group_by_length: bool = setting(
        False,
        "put texts of similar length into a batch, which needs less padding; the order still follows from the seed",
        rare=True,
    )


class Rows(NamedTuple):
    """Rows of tokens. Row n holds `lengths_N[n]` tokens; what follows them is padding."""

    tokens_NL: np.ndarray
    lengths_N: np.ndarray

    @property
    def is_token_NL(self) -> np.ndarray:
        """Where the tokens are, as opposed to the padding."""
        return np.arange(self.tokens_NL.shape[1]) < self.lengths_N[:, None]


def lengths_of(shard: Shard, examples: np.ndarray) -> np.ndarray:
    """The number of tokens of some documents, without separators."""
    return shard.starts[examples + 1] - shard.starts[examples] - (shard.separator is not None)


def texts_of(shard: Shard, examples: np.ndarray, max_length: int) -> Rows:
    """The tokens of some documents, without separators, truncated to `max_length` tokens."""
    begins_N = shard.starts[examples] + (shard.separator is not None)
    lengths_N = lengths_of(shard, examples).clip(max=max_length)
    columns_L = np.arange(lengths_N.max(initial=0))
    # Padding repeats the last token of the split where it would be read from beyond the end.
    places_NL = (begins_N[:, None] + columns_L).clip(max=shard.tokens_count - 1)
    return Rows(shard.tokens[places_NL].astype(np.int64), lengths_N)


def rows_of(texts: Sequence[Sequence[int]]) -> Rows:
    """The tokens of some texts."""
    lengths_N = np.array([len(text) for text in texts], np.int64)
    rows = Rows(np.zeros((len(texts), lengths_N.max(initial=0)), np.int64), lengths_N)
    rows.tokens_NL[rows.is_token_NL] = [token for text in texts for token in text]
    return rows


def truncated(rows: Rows, max_lengths: int | np.ndarray) -> Rows:
    """The rows, each truncated to its maximum length."""
    lengths_N = rows.lengths_N.clip(max=max_lengths)
    return Rows(rows.tokens_NL[:, : lengths_N.max(initial=0)], lengths_N)


def repeated(tokens: list[int], rows: int) -> Rows:
    """The same tokens in every row."""
    return Rows(np.tile(np.array(tokens, np.int64), (rows, 1)), np.full(rows, len(tokens)))


def joined(*parts: Rows) -> Rows:
    """The parts one after the other in each row, padded with token 0."""
    lengths_N = np.sum([part.lengths_N for part in parts], axis=0)
    tokens_NL = np.zeros((len(lengths_N), lengths_N.max(initial=0)), np.int64)
    begins_N = np.zeros_like(lengths_N)
    for part in parts:
        is_token_NL = part.is_token_NL
        rows, columns = is_token_NL.nonzero()
        tokens_NL[rows, begins_N[rows] + columns] = part.tokens_NL[is_token_NL]
        begins_N += part.lengths_N
    return Rows(tokens_NL, lengths_N)
