"""Windows: a long text cut into examples of one length, at another place in each epoch, so that no token is always first."""

import numpy as np

from glasshouse.data.batches import Seed, mix
from glasshouse.data.shards import Shard


def count(shard: Shard, length: int) -> int:
    """How many windows make an epoch: one fewer than would fit, so that every window may begin up to `length - 1` later."""
    return max((shard.tokens_count - length) // length, 1)


def cut(shard: Shard, length: int, more: int, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """The tokens (examples, length + more) of these windows."""
    room = min(length, shard.tokens_count - length)
    shift = mix(np.asarray(seed, np.uint64), epochs.astype(np.uint64)) % np.uint64(max(room, 1))
    starts = examples * length + shift.astype(np.int64)
    return np.asarray(shard.tokens[starts[:, None] + np.arange(length + more)], dtype=np.int64)
