"""Hits of linear classifiers over vectors: with all labels, with fewer, with shuffled ones, and the recalls from them."""

import numpy as np
import pytest

from glasshouse.claims.pretraining import feature_hits
from glasshouse.claims.pretraining.feature_hits import VectorSplits
from glasshouse.inspection.labelled_texts import LabelledTexts


def separable(rows=60, seed=0):
    """Two classes that lie apart in two dimensions; the last test text has the label of the other class."""
    generator = np.random.default_rng(seed)
    labels = np.array(["left", "right"] * (rows // 2))
    vectors = generator.normal(size=(rows, 2)) * 0.1 + np.where(labels == "left", -1.0, 1.0)[:, None]
    test = np.array(["left", "right", "left"])
    return VectorSplits(vectors, labels, np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, 1.0]]), test, standardise=True)


def test_both_classifiers_find_classes_that_lie_apart():
    assert separable().all_labels() == {"regression": [1.0, 1.0, 0.0], "svm": [1.0, 1.0, 0.0]}
    assert separable().fewer_labels((8,), seed=3) == {"8": [1.0, 1.0, 0.0]}


def test_shuffled_labels_teach_nothing():
    generator = np.random.default_rng(1)
    labels = np.array(["a", "b"] * 60)
    vectors = np.where(labels == "a", -1.0, 1.0)[:, None] + 0.1 * generator.normal(size=(120, 3))
    splits = VectorSplits(vectors, labels, vectors, labels, standardise=True)
    assert np.mean(splits.hits("regression")) == 1.0
    shares = [np.mean(splits.shuffled_labels(seed)) for seed in range(3)]
    assert abs(np.mean(shares) - 0.5) < 0.35
    assert min(shares) < 0.9


def test_word_pairs_know_the_order_of_words_and_words_do_not():
    texts = ("one minus two", "two minus one") * 10
    labels = ("negative", "positive") * 10
    rows = LabelledTexts(texts, labels)
    assert np.mean(feature_hits.from_words(2, rows, rows).hits("regression")) == 1.0
    assert np.mean(feature_hits.from_words(1, rows, rows).hits("regression")) == 0.5


def test_few_rows_are_extended_until_two_classes_can_be_told_apart():
    labels = np.array(["a", "a", "a", "b", "a", "b", "a"])
    order = np.arange(7)
    assert feature_hits.first_rows(order, labels, 2).tolist() == [0, 1, 2, 3, 4, 5]
    assert feature_hits.first_rows(order, labels, 6).tolist() == [0, 1, 2, 3, 4, 5]
    assert feature_hits.first_rows(order, labels, 99).tolist() == order.tolist()
    assert feature_hits.first_rows(order[:3], labels, 2).tolist() == [0, 1, 2], "one class only: all rows"


def test_the_balanced_accuracy_is_the_mean_of_the_recalls():
    recalls = feature_hits.recalls([1.0, 1.0, 0.0, 1.0], ["a", "a", "a", "b"])
    assert recalls == pytest.approx({"a": 2 / 3, "b": 1.0, "balanced": 5 / 6})
