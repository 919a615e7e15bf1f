"""N-gram language models with interpolated Kneser-Ney smoothing, as baselines for trained models.

p(w | h) = (max(c(h w) - d, 0) + d n(h) p(w | h')) / c(h). Here c(h w) is the count of the n-gram h w (for shorter h: the
number of different tokens before h w), c(h) the sum of c(h w) over w, n(h) the number of different tokens after h, h' is h
without its first token, and the discount d is estimated from the counts (Ney, Essen and Kneser 1994; Chen and Goodman 1998).
Below the unigrams, all tokens are equally likely.
"""

import numpy as np


def nats(training: np.ndarray, text: np.ndarray, vocabulary: int, order: int) -> np.ndarray:
    """-log p of each token of `text` after the first, given the `order - 1` tokens before it.

    The n-grams of `training` are counted.
    """
    if vocabulary**order > np.iinfo(np.int64).max:
        raise ValueError(f"{order}-grams of {vocabulary:,} tokens cannot be numbered in 64 bits")
    probability = np.full(max(len(text) - 1, 0), 1.0 / vocabulary)
    for length in range(1, order + 1):
        # The longest n-grams count by occurrence, shorter ones by the number of different tokens before them.
        if length == order:
            ngrams, counts = np.unique(_ngrams(training, vocabulary, length), return_counts=True)
        else:
            longer = np.unique(_ngrams(training, vocabulary, length + 1))
            ngrams, counts = np.unique(longer % vocabulary**length, return_counts=True)
        probability = _interpolate(ngrams, counts, _ngrams(text, vocabulary, length), vocabulary, probability)
    return -np.log(probability)


def _ngrams(tokens: np.ndarray, vocabulary: int, length: int) -> np.ndarray:
    """The number of the n-gram that ends at each token after the first. Copies of the first token pad the text."""
    padded = np.concatenate([np.full(max(length - 2, 0), tokens[0]), tokens]).astype(np.int64)
    count = len(tokens) - 1
    numbers = np.zeros(count, np.int64)
    for back in range(length - 1, -1, -1):
        end = len(padded) - back
        numbers = numbers * vocabulary + padded[end - count : end]
    return numbers


def _interpolate(
    ngrams: np.ndarray, counts: np.ndarray, queries: np.ndarray, vocabulary: int, lower_order: np.ndarray
) -> np.ndarray:
    """The probability of each query n-gram's last token given its other tokens, from the probability of one order lower."""
    ones, twos = int((counts == 1).sum()), int((counts == 2).sum())
    discount = ones / (ones + 2 * twos) if ones and twos else 0.5
    contexts, context_of = np.unique(ngrams // vocabulary, return_inverse=True)
    context_counts, follower_counts = np.bincount(context_of, counts), np.bincount(context_of).astype(float)
    count = _look_up(ngrams, counts.astype(float), queries)
    context_count = _look_up(contexts, context_counts, queries // vocabulary)
    followers = _look_up(contexts, follower_counts, queries // vocabulary)
    numerator = np.maximum(count - discount, 0) + discount * followers * lower_order
    return np.where(context_count > 0, numerator / np.maximum(context_count, 1), lower_order)


def _look_up(keys: np.ndarray, values: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The value of each query in a table with sorted keys; 0 for an unknown key."""
    index = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.where(keys[index] == queries, values[index], 0.0)
