"""IBM model 1: how likely a target word translates a source word, learned from pairs of sentences by EM.

p(t | s) starts uniform. A step distributes every target word over the source words of its sentence, in proportion to
p(t | s), and normalises the sums (Brown et al., 1993). Knows nothing of text: words are any strings.
"""

from collections.abc import Sequence

import numpy as np

STEPS = 8
# A sentence longer than this is cut, because its pairs of words are a square.
MOST_WORDS = 60
# Stands before every source sentence and takes the target words that translate no word.
NOTHING = ""


def dictionary(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]], steps: int = STEPS) -> dict[str, str]:
    """The most likely translation of each source word."""
    source_names, source_rows = _numbered([[NOTHING, *words[:MOST_WORDS]] for words in sources])
    target_names, target_rows = _numbered([list(words[:MOST_WORDS]) for words in targets])
    left, right, place = _cooccurrences(source_rows, target_rows)
    if not len(left):
        raise ValueError("no training pair has a word on both sides")
    pairs, pair_of = np.unique(left * len(target_names) + right, return_inverse=True)
    source_of = pairs // len(target_names)
    probability = np.ones(len(pairs))
    for _ in range(steps):
        weight = probability[pair_of]
        expected = np.bincount(pair_of, weight / np.bincount(place, weight)[place])
        probability = expected / np.bincount(source_of, expected)[source_of]
    # Sorted by source, then by probability: the last pair of each source is its best.
    order = np.lexsort((probability, source_of))
    last = np.flatnonzero(np.diff(source_of[order], append=-1))
    best = pairs[order[last]]
    words = zip((best // len(target_names)).tolist(), (best % len(target_names)).tolist(), strict=True)
    return {source_names[source]: target_names[target] for source, target in words if source_names[source] != NOTHING}


def _numbered(rows: list[list[str]]) -> tuple[list[str], list[np.ndarray]]:
    """The different words in order of their first occurrence, and the rows as numbers."""
    numbers: dict[str, int] = {}
    numbered = [np.array([numbers.setdefault(word, len(numbers)) for word in row], np.int64) for row in rows]
    return list(numbers), numbered


def _cooccurrences(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each pair of words of a sentence pair: the source word, the target word, and which occurrence of it this is."""
    left = [np.tile(source, len(target)) for source, target in zip(sources, targets, strict=True)]
    right = [np.repeat(target, len(source)) for source, target in zip(sources, targets, strict=True)]
    repeats = np.concatenate([[len(source)] * len(target) for source, target in zip(sources, targets, strict=True)])
    place = np.repeat(np.arange(len(repeats)), repeats.astype(np.int64))
    return np.concatenate(left), np.concatenate(right), place
