"""Classification metrics agree with those of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

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
