"""Which test texts a classifier answers correctly: over frozen features of a run, or over counts of words.

Every classifier is fitted on training texts alone. A row of hits has a 0 or a 1 for each test text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glasshouse.inspection import feature_classifiers
from glasshouse.inspection.feature_classifiers import LINEAR_SVM, LOGISTIC_REGRESSION
from glasshouse.inspection.labelled_texts import LabelledTexts
from glasshouse.runs.run import Run

REGRESSION, SVM = "regression", "svm"
CLASSIFIERS = {REGRESSION: LOGISTIC_REGRESSION, SVM: LINEAR_SVM}
BALANCED = "balanced"
POOLING = "mean"
BATCH = 256


@dataclass(frozen=True)
class VectorSplits:
    """A vector and a class for each training text and each test text."""

    vectors: Any
    labels: np.ndarray
    test_vectors: Any
    test_labels: np.ndarray
    standardise: bool

    def hits(self, kind: str, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> list[float]:
        """The hits of a classifier that is fitted on these rows, or on all, with their own or with other labels."""
        chosen = np.arange(len(self.labels)) if rows is None else rows
        targets = (self.labels if labels is None else labels)[chosen]
        classifier = feature_classifiers.new_classifiers()[CLASSIFIERS[kind]]
        fitted = feature_classifiers.fit(classifier, self.vectors[chosen], targets.tolist(), self.standardise)
        return [float(hit) for hit in fitted.predict(self.test_vectors) == self.test_labels]

    def all_labels(self) -> dict[str, list[float]]:
        """Classifier -> its hits with all labels."""
        return {kind: self.hits(kind) for kind in CLASSIFIERS}

    def fewer_labels(self, counts: Sequence[int], seed: int) -> dict[str, list[float]]:
        """Number of labels -> hits of the regression. The rows are the first ones in an order that the seed draws."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        return {str(count): self.hits(REGRESSION, first_rows(order, self.labels, count)) for count in counts}

    def shuffled_labels(self, seed: int) -> list[float]:
        """The hits of the regression if the training labels are shuffled, so that there is nothing to learn."""
        return self.hits(REGRESSION, labels=np.random.default_rng(seed).permutation(self.labels))


def from_run(run: Run, training: LabelledTexts, test: LabelledTexts) -> VectorSplits:
    """The mean of the features of each text's tokens, from a run that is not trained further."""
    vectors = [run.embed(rows.texts, POOLING, BATCH).float().cpu().numpy() for rows in (training, test)]
    return VectorSplits(vectors[0], np.array(training.labels), vectors[1], np.array(test.labels), standardise=True)


def from_words(longest: int, training: LabelledTexts, test: LabelledTexts) -> VectorSplits:
    """Counts of the words of each text, and of its runs of up to `longest` words. A run of two is a word pair."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(ngram_range=(1, longest))
    vectors, test_vectors = vectorizer.fit_transform(training.texts), vectorizer.transform(test.texts)
    return VectorSplits(vectors, np.array(training.labels), test_vectors, np.array(test.labels), standardise=False)


def first_rows(order: np.ndarray, labels: np.ndarray, count: int) -> np.ndarray:
    """The first `count` rows in this order, or as many more as give two classes two rows each."""
    for end in range(count, len(order)):
        class_sizes = np.unique(labels[order[:end]], return_counts=True)[1]
        if (class_sizes > 1).sum() > 1:
            return order[:end]
    return order


def recalls(hits: Sequence[float], labels: Sequence[str]) -> dict[str, float]:
    """Class -> share of its texts that are answered correctly, and "balanced" -> the mean of these shares."""
    shares = {
        name: float(np.mean([hit for hit, label in zip(hits, labels, strict=True) if label == name]))
        for name in sorted(set(labels))
    }
    return {**shares, BALANCED: float(np.mean(list(shares.values())))}
