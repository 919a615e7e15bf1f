"""Windows: a long text split into examples of one length. Each epoch shifts the windows, so no token is always first."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from glasshouse.data.batches import Seed, hash64, hash_of_integers
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.specs.declared import read_settings
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks.base import Batch, Scoring, Task


@dataclass(frozen=True)
class TokenLimit:
    """The setting of evaluations of a long text."""

    tokens: int = setting(0, "validation tokens used in evaluations during training; 0 means all", minimum=0)


class WindowTask(Task):
    """A task whose examples are windows of `context` tokens. `extra` tokens after a window belong to it."""

    extra: ClassVar[int] = 0
    items = "windows of text"
    EvaluationSettings = TokenLimit

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        if (count := prepared.splits["train"].tokens_count) < self.context + self.extra:
            least = f"data.context={self.context}{' plus one' if self.extra else ''}"
            raise DataError(f"the training text has {count} tokens, fewer than {least}; use more text or a shorter context")
        return super().complete_model(model, prepared)

    def example_count(self, shard: Shard) -> int:
        return count(shard, self.context)


def scored_tokens(scoring: Scoring) -> int:
    """The number of tokens at the beginning of a split that an evaluation reads."""
    return scoring.shard.tokens_count if scoring.final else tokens_in_training(scoring.shard, scoring.settings)


def tokens_in_training(shard: Shard, settings: EvaluationSpec) -> int:
    limit = read_settings(TokenLimit, settings.own).tokens
    return min(limit or shard.tokens_count, shard.tokens_count)


def count(shard: Shard, length: int) -> int:
    """The number of windows in an epoch: one fewer than fit, so that every window can be shifted by up to `length - 1`."""
    return max((shard.tokens_count - length) // length, 1)


def read(shard: Shard, length: int, extra: int, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """The tokens (examples, length + extra) of these windows, each with `extra` tokens after its end."""
    shifts = min(length, shard.tokens_count - length)
    if isinstance(seed, int) and epochs[0] == epochs[-1]:
        starts = examples * length + hash_of_integers(seed, int(epochs[0])) % max(shifts, 1)
    else:
        shift = hash64(np.asarray(seed, np.uint64), epochs.astype(np.uint64)) % np.uint64(max(shifts, 1))
        starts = examples * length + shift.astype(np.int64)
    return np.asarray(shard.tokens[starts[:, None] + np.arange(length + extra)], dtype=np.int64)


def split(batch: Batch, pieces: int) -> Batch:
    """The batch with every window split into so many sequences of equal length, which replace it in its place."""
    return {name: tensor.unflatten(1, (pieces, -1)).flatten(0, 1) for name, tensor in batch.items()}
