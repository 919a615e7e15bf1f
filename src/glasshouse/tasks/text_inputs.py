"""Texts of different lengths in one batch, and whole texts, or pairs of texts, as the input of a model.

A batch holds texts truncated to the context and padded at the end to the longest text. Padding is masked. Every function
handles a whole batch without a loop over rows. A pair is one sequence: the first text, the tokenizer's separator, and the
second text. Of a pair that is too long, the longer text is truncated first, as usual for BERT. A model with segment
embeddings (`model.segments`) is told which tokens belong to the second text.

Axes: N texts, L tokens of the longest text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.shards import Shard
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks.base import Batch
from glasshouse.tokenizers import Tokenizer


@dataclass(frozen=True)
class GroupByLength:
    """The setting of tasks whose batches are padded."""

    group_by_length: bool = setting(False, "put texts of similar length into a batch, which needs less padding", rare=True)


class Rows(NamedTuple):
    """Rows of tokens. Row n holds `lengths_N[n]` tokens; what follows them is padding."""

    tokens_NL: np.ndarray
    lengths_N: np.ndarray

    @property
    def is_token_NL(self) -> np.ndarray:
        """Where the tokens are, as opposed to the padding."""
        return np.arange(self.tokens_NL.shape[1]) < self.lengths_N[:, None]


class TextInputs:
    """How the texts of a task become tokens. `paired`: every example has two texts."""

    def __init__(self, context: int, paired: bool = False, segments: bool = False) -> None:
        self.context, self.paired, self.segments = context, paired, segments
        self.prefix_and_suffix: tuple[list[int], list[int]] = ([], [])
        self.separator: list[int] = []

    def set_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Receive the special tokens around texts and between the texts of a pair."""
        self.prefix_and_suffix = tokenizer.prefix_and_suffix
        self.separator = tokenizer.pair_separator if self.paired else []
        if self.paired and not self.separator:
            raise DataError("this tokenizer has no <|endoftext|> to separate pairs; leave out data.tokenizer_file")

    @property
    def max_length(self) -> int:
        """The number of tokens of the text, or of both texts of a pair, that fit into the context."""
        return self.context - sum(map(len, self.prefix_and_suffix)) - len(self.separator)

    def batch(self, shard: Shard, examples: np.ndarray) -> Batch:
        second = texts_of(shard.second, examples, self.max_length) if self.paired else None
        return self._joined(texts_of(shard, examples, self.max_length), second)

    def batch_of(self, texts: Sequence[Sequence[int]], second: Sequence[Sequence[int]] | None = None) -> Batch:
        rows, *others = (truncated(rows_of(given), self.max_length) for given in (texts, second) if given is not None)
        return self._joined(rows, others[0] if others else None)

    def _joined(self, first: Rows, second: Rows | None) -> Batch:
        count = len(first.lengths_N)
        before, after = (repeated(tokens, count) for tokens in self.prefix_and_suffix)
        parts = [before, first, after]
        if second is not None:
            first, second = truncated_pairs(first, second, self.max_length)
            parts = [before, first, repeated(self.separator, count), second, after]
        rows = joined(*parts)
        # A batch of empty texts has one column.
        tokens_NL = rows.tokens_NL if rows.tokens_NL.size else np.zeros((count, 1), np.int64)
        batch = {"tokens": torch.from_numpy(tokens_NL), "lengths": torch.from_numpy(rows.lengths_N.clip(min=1))}
        if second is None or not self.segments:
            return batch
        begins_N = np.sum([part.lengths_N for part in parts[:3]], axis=0)
        in_second_NL = (np.arange(tokens_NL.shape[1]) >= begins_N[:, None]) & rows.is_token_NL
        return {**batch, "segments": torch.from_numpy(in_second_NL.astype(np.int64))}

    def largest_batch(self, rows: int) -> Batch:
        tokens = torch.zeros(rows, self.context, dtype=torch.int64)
        batch = {"tokens": tokens, "lengths": torch.full((rows,), self.context)}
        return {**batch, "segments": torch.zeros_like(tokens)} if self.paired and self.segments else batch

    def truncated(self, shard: Shard) -> int:
        examples = np.arange(shard.documents)
        lengths_N = lengths_of(shard, examples)
        if self.paired:
            lengths_N = lengths_N + lengths_of(shard.second, examples)
        return int((lengths_N > self.max_length).sum())


def arguments(batch: Batch) -> dict[str, Tensor]:
    """The keyword arguments of a model besides the tokens."""
    return {name: batch[name] for name in ("lengths", "segments") if name in batch}


def truncated_pairs(first: Rows, second: Rows, max_length: int) -> tuple[Rows, Rows]:
    """Both texts of each pair, truncated to `max_length` tokens together: the longer one first, until both are equal."""
    room_N = np.maximum(max_length - second.lengths_N, max_length - max_length // 2)
    first = truncated(first, room_N)
    return first, truncated(second, max_length - first.lengths_N)


def lengths_of(shard: Shard, examples: np.ndarray) -> np.ndarray:
    return shard.starts[examples + 1] - shard.starts[examples] - (shard.mark is not None)


def texts_of(shard: Shard, examples: np.ndarray, max_length: int) -> Rows:
    """The tokens of some documents, without separators, truncated to `max_length` tokens."""
    begins_N = shard.starts[examples] + (shard.mark is not None)
    lengths_N = lengths_of(shard, examples).clip(max=max_length)
    columns_L = np.arange(lengths_N.max(initial=0))
    # Padding repeats the last token of the split where it would be read from beyond the end.
    places_NL = (begins_N[:, None] + columns_L).clip(max=shard.tokens_count - 1)
    return Rows(shard.tokens[places_NL].astype(np.int64), lengths_N)


def rows_of(texts: Sequence[Sequence[int]]) -> Rows:
    lengths_N = np.array([len(text) for text in texts], np.int64)
    rows = Rows(np.zeros((len(texts), lengths_N.max(initial=0)), np.int64), lengths_N)
    rows.tokens_NL[rows.is_token_NL] = [token for text in texts for token in text]
    return rows


def truncated(rows: Rows, max_lengths: int | np.ndarray) -> Rows:
    lengths_N = rows.lengths_N.clip(max=max_lengths)
    return Rows(rows.tokens_NL[:, : lengths_N.max(initial=0)], lengths_N)


def repeated(tokens: list[int], rows: int) -> Rows:
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
