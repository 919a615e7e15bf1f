"""Language models that only count, for a trained one to be measured against: interpolated Kneser-Ney over n tokens.

p(w | h) = (max(c(h w) - d, 0) + d n(h) p(w | h')) / c(h), with c how often h w stood in the text (for shorter h: after how
many different tokens), n(h) how many different tokens followed h, h' one token shorter, d estimated from the counts (Ney,
Essen and Kneser 1994; Chen and Goodman 1998). At the bottom all tokens are equally likely.
"""

import numpy as np


def nats(learned: np.ndarray, text: np.ndarray, vocabulary: int, order: int) -> np.ndarray:
    """The surprise at each token of a text after its first, given the `order - 1` before it; counts are of `learned`."""
    if vocabulary**order > np.iinfo(np.int64).max:
        raise ValueError(f"runs of {order} of {vocabulary:,} tokens cannot be numbered in 64 bits")
    probability = np.full(max(len(text) - 1, 0), 1.0 / vocabulary)
    for length in range(1, order + 1):
        # The longest runs are counted as often as they stand there, the shorter ones by what stands before them.
        if length == order:
            runs, counts = np.unique(_runs(learned, vocabulary, length), return_counts=True)
        else:
            longer = np.unique(_runs(learned, vocabulary, length + 1))
            runs, counts = np.unique(longer % vocabulary**length, return_counts=True)
        probability = _level(runs, counts, _runs(text, vocabulary, length), vocabulary, probability)
    return -np.log(probability)


def _runs(tokens: np.ndarray, vocabulary: int, length: int) -> np.ndarray:
    """A number for the run of `length` tokens that ends at each token after the first, which also stands before itself."""
    padded = np.concatenate([np.full(max(length - 2, 0), tokens[0]), tokens]).astype(np.int64)
    last = len(tokens) - 1
    found = np.zeros(last, np.int64)
    for back in range(length - 1, -1, -1):
        end = len(padded) - back
        found = found * vocabulary + padded[end - last : end]
    return found


def _level(runs: np.ndarray, counts: np.ndarray, asked: np.ndarray, vocabulary: int, below: np.ndarray) -> np.ndarray:
    """The probability of each asked run's last token given the others, from that given one fewer."""
    ones, twos = int((counts == 1).sum()), int((counts == 2).sum())
    discount = ones / (ones + 2 * twos) if ones and twos else 0.5
    contexts, where = np.unique(runs // vocabulary, return_inverse=True)
    totals, followers = np.bincount(where, counts), np.bincount(where).astype(float)
    known = _looked_up(runs, counts.astype(float), asked)
    total = _looked_up(contexts, totals, asked // vocabulary)
    spread = _looked_up(contexts, followers, asked // vocabulary)
    mixed = np.maximum(known - discount, 0) + discount * spread * below
    return np.where(total > 0, mixed / np.maximum(total, 1), below)


def _looked_up(names: np.ndarray, values: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The value of each name that is asked for; 0 where there is none."""
    place = np.minimum(np.searchsorted(names, asked), len(names) - 1)
    return np.where(names[place] == asked, values[place], 0.0)
