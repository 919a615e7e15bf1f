"""Metrics of classification: precision, recall and F1 from counts, and functions of the true and the predicted classes.

Labels are the classes of texts, the tags of words, or kinds of entities. Whole entities are scored as in the CoNLL
evaluation and in seqeval. Their tags are O, or a prefix and a kind: B-PER begins an entity, I-PER continues it, E- or L-
ends it, and S- or U- is one of a single word (IOB2, IOBES and BILOU). An entity also begins where its kind changes (IOB1).

Axes: N texts, C labels.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glasshouse.metrics import metric
from glasshouse.metrics.metric import Metrics

OUTSIDE = "O"
_TAG = re.compile(r"([BIESLU])-(.+)")
_BEGINS, _ENDS = frozenset("BSU"), frozenset("ESLU")

Span = tuple[str, int, int]
"""(kind, first word, word after the last)"""


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


@dataclass(frozen=True)
class PredictedClasses:
    """The class of each text, and the predicted one."""

    labels: tuple[str, ...]
    truth: np.ndarray
    prediction: np.ndarray

    @property
    def right(self) -> np.ndarray:
        return (self.prediction == self.truth).astype(float)

    @cached_property
    def counts(self) -> LabelCounts:
        return of_classes(self.truth, self.prediction, self.labels)


ACCURACY = metric.ACCURACY.mean_of(lambda classes: classes.right)
MAJORITY = metric.MAJORITY.of(lambda classes: classes.counts.majority())
# Over the classes that occur. A class that does not occur has no recall.
MACRO_F1 = metric.MACRO_F1.of(lambda classes: classes.counts.macro_f1())
EXAMPLES = metric.EXAMPLES.of(lambda classes: len(classes.truth))
RECALL = metric.RECALL.of(lambda classes: classes.counts.by_name(classes.counts.recall))
CLASSIFICATION = Metrics([ACCURACY, MAJORITY, MACRO_F1, EXAMPLES, RECALL], headline=("accuracy",))


def confusion_matrix(truth: np.ndarray, predictions: np.ndarray, classes: int) -> np.ndarray:
    """How often class i (row) was predicted as class j (column)."""
    return np.bincount(truth * classes + predictions, minlength=classes * classes).reshape(classes, classes)


def mark_entities(tags: Iterable[str]) -> bool:
    """Whether these tags mark entities."""
    inside = [tag for tag in tags if tag != OUTSIDE]
    return bool(inside) and all(_TAG.fullmatch(tag) for tag in inside) and any(tag[0] in "BI" for tag in inside)


def entity_spans(tags: Sequence[str]) -> list[Span]:
    """The entities of a text, from the tags of its words."""
    found: list[Span] = []
    start: int | None = None
    kind, ended = "", False
    for place, tag in enumerate([*tags, OUTSIDE]):
        match = _TAG.fullmatch(tag)
        prefix, new_kind = match.groups() if match else (OUTSIDE, "")
        if start is not None and (ended or prefix in _BEGINS or new_kind != kind):
            found.append((kind, start, place))
            start = None
        if new_kind and start is None:
            start, kind = place, new_kind
        ended = prefix in _ENDS
    return found


def of_entities(truth: Iterable[Sequence[str]], predictions: Iterable[Sequence[str]]) -> LabelCounts:
    """The counts of each kind of entity. An entity is right if its kind and all its words are."""
    counters: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    for true_tags, predicted_tags in zip(truth, predictions, strict=True):
        actual, predicted = set(entity_spans(true_tags)), set(entity_spans(predicted_tags))
        for counter, found in zip(counters, (actual & predicted, predicted, actual), strict=True):
            counter.update(kind for kind, _, _ in found)
    names = tuple(sorted({kind for counter in counters for kind in counter}))
    return LabelCounts(names, *(np.array([counter[name] for name in names], np.int64) for counter in counters))
