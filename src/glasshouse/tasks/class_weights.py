"""Class weights: how much an example of each class counts in the training loss. Pure functions of words and counts.

Weights are scaled so that their mean over the training examples is one. The loss is then still a sum divided by the number
of examples, whose parts add up exactly, and the learning rate means what it meant without weights.
"""

from collections.abc import Sequence

import numpy as np

from glasshouse.specs.errors import DataError, SpecError

BALANCED = "balanced"


def read(words: Sequence[str]) -> dict[str, float]:
    """What each class was given in `training.class_weights`; nothing where the weights are to be balanced."""
    if list(words) == [BALANCED]:
        return {}
    given: dict[str, float] = {}
    for word in words:
        name, equals, figure = word.rpartition("=")
        try:
            weight = float(figure)
        except ValueError:
            weight = -1.0
        if not equals or not 0 <= weight < float("inf"):
            raise SpecError(
                "bad-class-weights",
                f"training.class_weights has {word!r}; write [balanced], or a class and a weight of 0 or more: [name=2]",
            )
        if name in given:
            raise SpecError("bad-class-weights", f"training.class_weights gives {name!r} two weights; give one")
        given[name] = weight
    return given


def weigh(words: Sequence[str], labels: Sequence[str], counts: np.ndarray) -> np.ndarray:
    """The weight of each class, where `counts` says how many training examples it has.

    Balanced, every class that occurs counts the same in sum: examples / (classes * count). Otherwise a class counts what
    it was given, or 1.
    """
    given = read(words)
    if strange := [name for name in given if name not in labels]:
        raise DataError(
            "unknown-label",
            f"training.class_weights names {strange[0]!r}, which is no class of the data; they are: {', '.join(labels)}",
        )
    if list(words) == [BALANCED]:
        weights = np.divide(1.0, counts, out=np.zeros(len(labels)), where=counts > 0)
    else:
        weights = np.array([given.get(name, 1.0) for name in labels])
    total = float((weights * counts).sum())
    if not total:
        raise DataError(
            "all-weights-zero",
            "training.class_weights leaves nothing to learn from: every class that occurs has the weight 0",
        )
    return weights * counts.sum() / total
