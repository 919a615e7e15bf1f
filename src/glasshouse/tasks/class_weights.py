"""Class weights: how much an example of each class counts in the training loss. Pure functions.

Weights are scaled so that their mean over the training examples is one. The loss is then still a sum divided by the number
of examples, micro-batches add up exactly, and the same learning rate suits training with and without weights.
"""

from collections.abc import Sequence

import numpy as np

from glasshouse.specs.errors import DataError, SpecError

BALANCED = "balanced"


def parse(entries: Sequence[str]) -> dict[str, float]:
    """The weight of each class that `training.class_weights` names; empty for balanced weights."""
    if list(entries) == [BALANCED]:
        return {}
    weights: dict[str, float] = {}
    for entry in entries:
        name, equals, number = entry.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not equals or not 0 <= weight < float("inf"):
            raise SpecError(
                f"training.class_weights has {entry!r}; write [balanced], or a class and a weight of 0 or more: [name=2]"
            )
        if name in weights:
            raise SpecError(f"training.class_weights has two weights for {name!r}; write only one")
        weights[name] = weight
    return weights


def compute(entries: Sequence[str], labels: Sequence[str], counts: np.ndarray) -> np.ndarray:
    """The weight of each class; `counts` holds the number of its training examples.

    With balanced weights, every class that occurs has the same total weight: examples / (classes * count) per example.
    Otherwise a class has the weight in `entries`, or 1.
    """
    named = parse(entries)
    if unknown := [name for name in named if name not in labels]:
        raise DataError(
            f"training.class_weights names {unknown[0]!r}, which is not a class of the data; choose among: "
            f"{', '.join(labels)}"
        )
    if list(entries) == [BALANCED]:
        weights = np.divide(1.0, counts, out=np.zeros(len(labels)), where=counts > 0)
    else:
        weights = np.array([named.get(name, 1.0) for name in labels])
    total = float((weights * counts).sum())
    if not total:
        raise DataError(
            "training.class_weights has the weight 0 for every class that occurs; give at least one a weight above 0"
        )
    return weights * counts.sum() / total
