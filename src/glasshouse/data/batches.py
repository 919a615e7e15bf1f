"""Selection of the examples in each batch, as a pure function of (seed, step).

A training run therefore needs only its step number to find its place in the data. Every epoch visits every example once, in
a new random order. The order is a permutation that is evaluated index by index, so neither memory nor start-up time grows
with the data set.
"""

import numpy as np

from glasshouse.data.batch_stages import BatchStages

# One seed for all examples, or one seed for each example.
Seed = int | np.ndarray

_FEISTEL_ROUNDS = 4
MASK64 = 2**64 - 1
# The number of batches that are selected together. If batches are grouped by length, this is enough for the lengths within a
# batch to be almost equal.
POOL = 64


def select_examples(seed: Seed, first: int, count: int, examples: int) -> tuple[np.ndarray, np.ndarray]:
    """(epochs, examples): the epoch and the example index of so many rows after the `first` rows of training.

    They may contain the end of one epoch and the start of the next. An array of seeds gives such rows for each seed, one
    after the other.
    """
    positions = np.arange(first, first + count, dtype=np.uint64)
    if isinstance(seed, np.ndarray):
        seed, positions = seed.repeat(count), np.tile(positions, len(seed))
    epochs, positions = np.divmod(positions, np.uint64(examples))
    return epochs.astype(np.int64), permute(positions, examples, seed, epochs)


def select_batches_by_length(seed: int, pool: int, batch: int, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(epochs, examples), each (POOL, batch), for the POOL steps of a pool, with texts of similar length in each batch.

    The pool holds the same examples as `select_examples` gives to these steps. They are sorted by length and divided into
    batches, which reduces padding. The batches are then shuffled.
    """
    epochs, examples = select_examples(seed, pool * batch * POOL, batch * POOL, len(lengths))
    by_length = np.argsort(lengths[examples], kind="stable").reshape(POOL, batch)
    shuffled = by_length[permute(np.arange(POOL), POOL, seed, np.full(POOL, pool))]
    return epochs[shuffled], examples[shuffled]


class BatchOrder:
    """The examples of every step, computed for POOL steps in one call.

    An array of seeds gives one batch for each seed, one after the other. With `lengths`, batches are grouped by length; then
    all have one size.
    """

    def __init__(self, seed: Seed, stages: BatchStages, examples: int, lengths: np.ndarray | None = None) -> None:
        self.seed, self.stages, self.examples, self.lengths = seed, stages, examples, lengths
        self.pool, self.pool_rows = -1, (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def __call__(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        if step // POOL != self.pool:
            # Call overhead dominates: selecting many batches costs hardly more than selecting one.
            self.pool = step // POOL
            self.pool_rows = self._select_pool(self.pool)
        first, start, end = (self.stages.sequences_before(each) for each in (self.pool * POOL, step, step + 1))
        seeds = np.size(self.seed)
        epochs, examples = (rows.reshape(seeds, -1)[:, start - first : end - first].ravel() for rows in self.pool_rows)
        return epochs, examples

    def _select_pool(self, pool: int) -> tuple[np.ndarray, np.ndarray]:
        """(epochs, examples) of POOL steps, grouped by seed."""
        if self.lengths is None:
            first, end = (self.stages.sequences_before(step) for step in (pool * POOL, (pool + 1) * POOL))
            return select_examples(self.seed, first, end - first, self.examples)
        batch, seeds = self.stages.at(0).batch, np.atleast_1d(self.seed)
        by_seed = [select_batches_by_length(int(seed), pool, batch, self.lengths) for seed in seeds]
        return np.concatenate([epochs for epochs, _ in by_seed]), np.concatenate([examples for _, examples in by_seed])


def permute(indices: np.ndarray, size: int, seed: Seed, epochs: np.ndarray) -> np.ndarray:
    """Apply the permutation of 0..size-1 that belongs to a seed and an epoch to some indices.

    A Feistel network permutes the numbers below the next power of four. Applying it repeatedly until the value is below
    `size` (cycle walking) gives a permutation of 0..size-1 (Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002).
    """
    half = max((max(size - 1, 1).bit_length() + 1) // 2, 1)
    mask = np.uint64((1 << half) - 1)
    keys = [hash64(np.asarray(seed, np.uint64), epochs.astype(np.uint64), np.uint64(r)) for r in range(_FEISTEL_ROUNDS)]
    values = indices.astype(np.uint64)
    too_large = np.ones(len(values), dtype=bool)
    while too_large.any():
        left, right = values[too_large] >> np.uint64(half), values[too_large] & mask
        for key in keys:
            left, right = right, left ^ (hash64(right, key[too_large], np.uint64(half)) & mask)
        values[too_large] = (left << np.uint64(half)) | right
        too_large = values >= np.uint64(size)
    return values.astype(np.int64)


def step_seed(seed: int, step: int, rank: int = 0) -> int:
    """The seed for all randomness within a step, for each of several processes that take it together.

    It has at most 62 bits, which the generator of every device accepts.
    """
    words = (seed, step, rank) if rank else (seed, step)
    return hash_of_integers(*words) & (2**62 - 1)


def hash_of_integers(*words: int) -> int:
    """The hash of `hash64` for single integers below 2^64, in plain Python: numpy takes ten times as long for one."""
    state = 0x9E3779B97F4A7C15
    for word in words:
        state = ((state ^ word) + 0x9E3779B97F4A7C15) & MASK64
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK64
        state ^= state >> 31
    return state


def hash64(*words: np.ndarray | np.uint64) -> np.ndarray:
    """A 64-bit hash of 64-bit words: the finaliser of SplitMix64 applied to each in turn (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        state: np.ndarray = np.uint64(0x9E3779B97F4A7C15) * np.ones(1, np.uint64)
        for word in words:
            state = state ^ np.asarray(word, dtype=np.uint64)
            state = state + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state
