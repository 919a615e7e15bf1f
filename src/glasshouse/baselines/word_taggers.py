"""Baselines of tagging: the commonest tag, and the commonest tag of each word.

Words and their tags are strings that are joined by single spaces.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from glasshouse.baselines.field_baselines import Examples, Method, Predict
from glasshouse.tasks.base import shares_of_ratio


def commonest_tag(training: Examples) -> Callable[[float], Predict]:
    """Every word has the commonest tag of the training words."""
    tag = _commonest(Counter(tag for tags in training.fields for tag in tags.split(" ")))
    return lambda strength: lambda texts: [" ".join([tag] * len(text.split(" "))) for text in texts]


def tag_of_word(training: Examples) -> Callable[[float], Predict]:
    """Every word has its commonest tag. An unknown word has the commonest tag of the words that occur once."""
    tags_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text, tags in zip(training.texts, training.fields, strict=True):
        for word, tag in zip(text.split(" "), tags.split(" "), strict=True):
            tags_of[word][tag] += 1
    once: Counter[str] = Counter()
    for counts in tags_of.values():
        if counts.total() == 1:
            once += counts
    unknown = _commonest(once or sum(tags_of.values(), Counter()))
    known = {word: _commonest(counts) for word, counts in tags_of.items()}
    return lambda strength: lambda texts: [" ".join(known.get(word, unknown) for word in text.split(" ")) for text in texts]


def score_tags(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The share of right tags, and each text's part in it."""
    right, words = np.zeros(len(truth)), np.zeros(len(truth))
    for place, (true, predicted) in enumerate(zip(truth, predictions, strict=True)):
        pairs = list(zip(true.split(" "), predicted.split(" "), strict=True))
        right[place], words[place] = sum(tag == answer for tag, answer in pairs), len(pairs)
    return {"accuracy": float(right.sum() / words.sum())}, {"accuracy": shares_of_ratio(right, words.sum())}


def _commonest(counts: "Counter[str]") -> str:
    if not counts:
        raise ValueError("there are no training texts")
    return counts.most_common(1)[0][0]


METHODS = (
    Method("commonest-tag", "the commonest tag of the training texts", commonest_tag),
    Method("tag-of-word", "the commonest tag of each word", tag_of_word),
)
