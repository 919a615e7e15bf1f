"""Which examples make the batch of a step: a pure function of (seed, step), so that a place in the data is one number.

Every epoch visits every example once, in an order of its own. The order is a permutation computed point by point, so that
neither memory nor start-up grows with the data.
"""

import numpy as np

# One for all examples, or one for each.
Seed = int | np.ndarray

_ROUNDS = 4
# Batches that are ordered together. Sorted by length, it is enough that lengths in a batch hardly differ.
POOL = 64


def order(seed: Seed, step: int, batch: int, examples: int) -> tuple[np.ndarray, np.ndarray]:
    """(epochs, examples) of each place in the batch; a batch may straddle two epochs. Several seeds: a batch of each."""
    places = np.arange(step * batch, (step + 1) * batch, dtype=np.uint64)
    if isinstance(seed, np.ndarray):
        seed, places = seed.repeat(batch), np.tile(places, len(seed))
    epochs, places = np.divmod(places, np.uint64(examples))
    return epochs.astype(np.int64), permute(places, examples, seed, epochs)


def order_by_length(seed: int, pool: int, batch: int, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(epochs, examples) of POOL steps, (POOL, batch) each: the examples that `order` gives them, but a batch has some of
    similar lengths, so that little is padding.

    The examples of the pool are sorted by length and cut into batches, which come in an order of their own.
    """
    epochs, examples = order(seed, pool, batch * POOL, len(lengths))
    by_length = np.argsort(lengths[examples], kind="stable").reshape(POOL, batch)
    chosen = by_length[permute(np.arange(POOL), POOL, seed, np.full(POOL, pool))]
    return epochs[chosen], examples[chosen]


class Order:
    """The order of every step, worked out for many steps at a time. Several seeds: a batch of each, one after the other."""

    def __init__(self, seed: Seed, batch: int, examples: int, lengths: np.ndarray | None = None) -> None:
        self.seed, self.batch, self.examples, self.lengths = seed, batch, examples, lengths
        self.block, self.ahead = -1, (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def __call__(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """(epochs, examples) of a step."""
        if step // POOL != self.block:
            # A call for many steps costs hardly more than one for a single step: most of it is the calling.
            self.block = step // POOL
            self.ahead = self._pool(self.block)
        epochs, examples = (part.reshape(-1, POOL, self.batch)[:, step % POOL].ravel() for part in self.ahead)
        return epochs, examples

    def _pool(self, pool: int) -> tuple[np.ndarray, np.ndarray]:
        """(epochs, examples) of POOL steps, those of each seed together."""
        if self.lengths is None:
            return order(self.seed, pool, self.batch * POOL, self.examples)
        each = [order_by_length(int(seed), pool, self.batch, self.lengths) for seed in np.atleast_1d(self.seed)]
        return np.concatenate([epochs for epochs, _ in each]), np.concatenate([examples for _, examples in each])


def permute(places: np.ndarray, size: int, seed: Seed, epochs: np.ndarray) -> np.ndarray:
    """The permutation of 0..size-1 that belongs to a seed and epoch, at the given places.

    A Feistel network permutes the next power of four; walking its cycle until the value is below `size` makes of that a
    permutation of 0..size-1 (Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002).
    """
    half = max((max(size - 1, 1).bit_length() + 1) // 2, 1)
    mask = np.uint64((1 << half) - 1)
    keys = [mix(np.asarray(seed, np.uint64), epochs.astype(np.uint64), np.uint64(r)) for r in range(_ROUNDS)]
    values = places.astype(np.uint64)
    todo = np.ones(len(values), dtype=bool)
    while todo.any():
        left, right = values[todo] >> np.uint64(half), values[todo] & mask
        for key in keys:
            left, right = right, left ^ (mix(right, key[todo], np.uint64(half)) & mask)
        values[todo] = (left << np.uint64(half)) | right
        todo = values >= np.uint64(size)
    return values.astype(np.int64)


def seed_of(seed: int, step: int) -> int:
    """A seed for what is random within a step. The mask keeps it within what every device's generator takes."""
    return int(mix(np.uint64(seed), np.uint64(step))[0]) & (2**62 - 1)


def mix(*words: np.ndarray | np.uint64) -> np.ndarray:
    """A hash of 64-bit words (the finaliser of SplitMix64 over each in turn; Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        state: np.ndarray = np.uint64(0x9E3779B97F4A7C15) * np.ones(1, np.uint64)
        for word in words:
            state = state ^ np.asarray(word, dtype=np.uint64)
            state = state + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state
