"""Classification metrics agree with those of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from glasshouse.metrics import classification
from glasshouse.metrics.classification import CLASSIFICATION, PredictedClasses, confusion_matrix


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60))
def test_the_metrics_are_those_of_scikit_learn(pairs):
    truth, predictions = np.array(pairs).T
    matrix = confusion_matrix(truth, predictions, 4)
    assert (matrix == sklearn_metrics.confusion_matrix(truth, predictions, labels=range(4))).all()
    result = CLASSIFICATION.measure(PredictedClasses(("a", "b", "c", "d"), truth, predictions))
    classes = sorted(set(truth.tolist()))
    assert result["accuracy"] == pytest.approx(sklearn_metrics.accuracy_score(truth, predictions))
    assert result["majority"] == pytest.approx(np.bincount(truth).max() / len(truth))
    f1 = sklearn_metrics.f1_score(truth, predictions, labels=classes, average="macro", zero_division=0)
    assert result["macro_f1"] == pytest.approx(f1)
    recall = sklearn_metrics.recall_score(truth, predictions, labels=classes, average=None, zero_division=0)
    assert [result[f"recall.{'abcd'[number]}"] for number in classes] == pytest.approx(recall.tolist())


def test_the_scores_of_sets_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    truth, predicted = random.random((60, 3)) < 0.3, random.random((60, 3)) < 0.4
    counts = classification.of_sets(truth, predicted, ("a", "b", "c"))
    for name, ours in (("precision", counts.precision), ("recall", counts.recall), ("f1", counts.f1)):
        assert ours == pytest.approx(getattr(sklearn_metrics, f"{name}_score")(truth, predicted, average=None))
    assert counts.total().f1[0] == pytest.approx(sklearn_metrics.f1_score(truth, predicted, average="micro"))
    assert counts.macro_f1() == pytest.approx(sklearn_metrics.f1_score(truth, predicted, average="macro"))


def test_the_scores_of_classes_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    truth, predicted = random.integers(0, 3, 90), random.integers(0, 3, 90)
    counts = classification.of_classes(truth, predicted, ("a", "b", "c"))
    assert counts.f1 == pytest.approx(sklearn_metrics.f1_score(truth, predicted, average=None))
    assert counts.by_name(counts.f1) == dict(zip("abc", counts.f1, strict=True))
    assert counts.majority() == np.bincount(truth).max() / 90


def test_a_label_that_never_occurs_counts_for_no_average():
    truth, predicted = np.array([[True, False], [True, False]]), np.array([[True, True], [True, False]])
    counts = classification.of_sets(truth, predicted, ("a", "b"))
    assert counts.macro_f1() == 1
    assert counts.by_name(counts.f1) == {"a": 1}
    assert classification.of_sets(truth & False, predicted & False, ("a", "b")).macro_f1() == 0
