"""Metrics of classification: functions of the true and the predicted class of each text, as numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glasshouse.metrics import label_counts, metric
from glasshouse.metrics.label_counts import LabelCounts
from glasshouse.metrics.metric import Metrics


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
        return label_counts.of_classes(self.truth, self.prediction, self.labels)


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
