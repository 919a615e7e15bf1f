"""Precision, recall and F1 of labels are those of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from glasshouse.metrics import label_counts


def test_the_scores_of_sets_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    truth, predicted = random.random((60, 3)) < 0.3, random.random((60, 3)) < 0.4
    counts = label_counts.of_sets(truth, predicted, ("a", "b", "c"))
    for name, ours in (("precision", counts.precision), ("recall", counts.recall), ("f1", counts.f1)):
        assert ours == pytest.approx(getattr(metrics, f"{name}_score")(truth, predicted, average=None))
    assert counts.total().f1[0] == pytest.approx(metrics.f1_score(truth, predicted, average="micro"))
    assert counts.macro_f1() == pytest.approx(metrics.f1_score(truth, predicted, average="macro"))


def test_the_scores_of_classes_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    truth, predicted = random.integers(0, 3, 90), random.integers(0, 3, 90)
    counts = label_counts.of_classes(truth, predicted, ("a", "b", "c"))
    assert counts.f1 == pytest.approx(metrics.f1_score(truth, predicted, average=None))
    assert counts.by_name(counts.f1) == dict(zip("abc", counts.f1, strict=True))
    assert counts.majority() == np.bincount(truth).max() / 90


def test_a_label_that_never_occurs_counts_for_no_average():
    truth, predicted = np.array([[True, False], [True, False]]), np.array([[True, True], [True, False]])
    counts = label_counts.of_sets(truth, predicted, ("a", "b"))
    assert counts.macro_f1() == 1
    assert counts.by_name(counts.f1) == {"a": 1}
    assert label_counts.of_sets(truth & False, predicted & False, ("a", "b")).macro_f1() == 0
