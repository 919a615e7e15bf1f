"""Precision, recall and F1 from counts: how often each label was right, predicted, and true. Pure functions.

Labels are the classes of texts, the tags of words, or kinds of entities.

Axes: N texts, C labels.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LabelCounts:
    """Counts for each of `names`."""

    names: tuple[str, ...]
    correct: np.ndarray
    predicted: np.ndarray
    actual: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """Correct among predicted; 0 if a label was never predicted."""
        return _ratio(self.correct, self.predicted)

    @property
    def recall(self) -> np.ndarray:
        """Correct among actual; 0 if a label never occurs."""
        return _ratio(self.correct, self.actual)

    @property
    def f1(self) -> np.ndarray:
        """The harmonic mean of precision and recall."""
        return _ratio(2 * self.correct, self.predicted + self.actual)

    def total(self) -> "LabelCounts":
        """All labels taken together, for micro averages."""
        sums = (np.array([counts.sum()]) for counts in (self.correct, self.predicted, self.actual))
        return LabelCounts(("all",), *sums)

    def macro_f1(self) -> float:
        """The mean F1 of the labels that occur."""
        occurs = self.actual > 0
        return float(self.f1[occurs].mean()) if occurs.any() else 0.0

    def majority(self) -> float:
        """The share of the commonest label."""
        return float(self.actual.max() / self.actual.sum())

    def by_name(self, scores: np.ndarray) -> dict[str, float]:
        """The score of each label that occurs."""
        return {self.names[index]: float(scores[index]) for index in np.flatnonzero(self.actual)}


def of_sets(truth_NC: np.ndarray, predicted_NC: np.ndarray, names: tuple[str, ...]) -> LabelCounts:
    """The counts of texts that have several labels each."""
    return LabelCounts(names, (truth_NC & predicted_NC).sum(0), predicted_NC.sum(0), truth_NC.sum(0))


def of_classes(truth: np.ndarray, predictions: np.ndarray, names: tuple[str, ...]) -> LabelCounts:
    """The counts of texts that have one class each, or of words that have one tag each."""
    right = truth[truth == predictions]
    return LabelCounts(names, *(np.bincount(tags, minlength=len(names)) for tags in (right, predictions, truth)))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
