"""Windows: a long text split into examples of one length. Each epoch shifts the windows, so no token is always first."""

import numpy as np

from glasshouse.data.batches import Seed, hash64, hash_of_integers
from glasshouse.data.shards import Shard
from glasshouse.tasks.base import Batch


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
