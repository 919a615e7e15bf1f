"""Classification metrics agree with those of scikit-learn; what each scheme of tags marks, and the scores of entities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from glasshouse.metrics import classification
from glasshouse.metrics.classification import (
    CLASSIFICATION,
    PredictedClasses,
    confusion_matrix,
    entity_spans,
    mark_entities,
    of_entities,
)


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


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O O", []),
        ("B-PER I-PER O B-LOC", [("PER", 0, 2), ("LOC", 3, 4)]),
        ("B-PER B-PER I-PER", [("PER", 0, 1), ("PER", 1, 3)]),
        # IOB1: an entity may begin with I.
        ("I-PER I-PER O I-LOC", [("PER", 0, 2), ("LOC", 3, 4)]),
        # Another kind begins another entity.
        ("B-PER I-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3)]),
        ("S-PER B-LOC I-LOC E-LOC S-LOC", [("PER", 0, 1), ("LOC", 1, 4), ("LOC", 4, 5)]),
        ("U-PER B-LOC L-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3), ("LOC", 3, 4)]),
        ("B-first-name I-first-name", [("first-name", 0, 2)]),
        ("", []),
    ],
)
def test_the_spans_of_a_text(tags, expected):
    assert entity_spans(tags.split()) == expected


def test_an_entity_is_right_if_its_kind_and_all_its_words_are():
    truth = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O"]]
    predictions = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O"]]
    counts = of_entities(truth, predictions)
    assert counts.names == ("LOC", "PER")
    assert counts.correct.tolist() == [1, 0]
    assert counts.predicted.tolist() == [1, 2]
    assert counts.actual.tolist() == [2, 1]
    assert counts.f1.tolist() == pytest.approx([2 / 3, 0])
    assert counts.total().f1[0] == pytest.approx(2 / 6)


def test_only_prefixes_of_a_scheme_mark_entities():
    assert mark_entities(["O", "B-PER", "I-PER"])
    assert mark_entities(["O", "I-PER"])
    assert not mark_entities(["NOUN", "VERB", "O"])
    assert not mark_entities(["O"])
    assert not mark_entities(["B-PER", "NN"])
    assert not mark_entities(["S-BAR", "O"])
