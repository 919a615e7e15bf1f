"""Baselines of classification: the commonest class, naive Bayes, and logistic regression over words or characters."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glasshouse.baselines import sparse_features
from glasshouse.baselines.field_baselines import Examples, Method, Predict
from glasshouse.baselines.sparse_features import Featurise
from glasshouse.metrics.classification import confusion_matrix, scores

COMMONEST = "commonest-class"
STRENGTHS = (0.25, 1.0, 4.0, 16.0, 64.0)
MOST_ITERATIONS = 200


def commonest_class(training: Examples) -> Callable[[float], Predict]:
    """Every text has the commonest class of the training texts."""
    if not training.fields:
        raise ValueError("there are no training texts")
    commonest = Counter(training.fields).most_common(1)[0][0]
    return lambda strength: lambda texts: [commonest] * len(texts)


def naive_bayes(training: Examples) -> Callable[[float], Predict]:
    """Multinomial naive Bayes over words. The strength is the added count."""
    from sklearn.naive_bayes import MultinomialNB

    return _linear(sparse_features.word_counts, lambda strength: MultinomialNB(alpha=strength), training)


def logistic_regression(featurise: Featurise) -> Callable[[Examples], Callable[[float], Predict]]:
    """Logistic regression over some features. The strength is scikit-learn's C, the inverse of the penalty."""

    def learn(training: Examples) -> Callable[[float], Predict]:
        model = one_class_each if len(set(training.fields)) > 2 else binary_regression
        return _linear(featurise, model, training)

    return learn


def binary_regression(strength: float) -> Any:
    """Logistic regression of two classes. The dual solver is fast for texts: many features, few of which are not zero."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, solver="liblinear", dual=True, max_iter=MOST_ITERATIONS, random_state=0)


def one_class_each(strength: float) -> Any:
    """A logistic regression for each class against the others, which takes a tenth of the time of a joint one."""
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(binary_regression(strength))


def _linear(featurise: Featurise, model: Callable[[float], Any], training: Examples) -> Callable[[float], Predict]:
    if len(set(training.fields)) < 2:
        raise ValueError("the training texts have only one class")
    features = featurise(training.texts)

    def fit(strength: float) -> Predict:
        fitted = model(strength).fit(features.training, training.fields)
        return lambda texts: [str(answer) for answer in fitted.predict(features.of(texts))]

    return fit


def score_classes(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Accuracy and macro F1, and whether each text is right."""
    names = tuple(sorted({*truth, *predictions}))
    number = {name: index for index, name in enumerate(names)}
    true, predicted = (np.array([number[name] for name in side], np.int64) for side in (truth, predictions))
    metrics = scores(confusion_matrix(true, predicted, len(names)), names)
    right = {"accuracy": (true == predicted).astype(float)}
    return {name: metrics[name] for name in ("accuracy", "macro_f1")}, right


METHODS = (
    Method(COMMONEST, "the commonest class of the training texts", commonest_class),
    Method("naive-bayes", "naive Bayes over words", naive_bayes, (4.0, 1.0, 0.25, 0.0625), 1, "alpha"),
    Method(
        "words-and-pairs",
        "logistic regression over words and pairs",
        logistic_regression(sparse_features.words_and_pairs),
        STRENGTHS,
        1,
        most_characters=8e6,
        most_work=80e6,
    ),
    Method(
        "characters",
        "logistic regression over characters",
        logistic_regression(sparse_features.characters),
        STRENGTHS,
        1,
        most_characters=2e6,
        most_work=20e6,
    ),
)
