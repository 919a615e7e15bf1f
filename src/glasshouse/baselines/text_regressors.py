"""Baselines of regression: the mean, and ridge regression over words and pairs."""

from collections.abc import Callable, Sequence

import numpy as np

from glasshouse.baselines import sparse_features
from glasshouse.baselines.field_baselines import Examples, Method, Predict
from glasshouse.metrics.regression import scores


def mean_value(training: Examples) -> Callable[[float], Predict]:
    """Every text has the mean of the training texts."""
    if not training.fields:
        raise ValueError("there are no training texts")
    mean = repr(float(np.mean(_numbers(training.fields))))
    return lambda strength: lambda texts: [mean] * len(texts)


def ridge_regression(training: Examples) -> Callable[[float], Predict]:
    """Ridge regression over words and pairs. The strength is scikit-learn's alpha, the penalty."""
    from sklearn.linear_model import Ridge

    features, values = sparse_features.words_and_pairs(training.texts), _numbers(training.fields)

    def fit(strength: float) -> Predict:
        fitted = Ridge(alpha=strength, solver="sparse_cg").fit(features.training, values)
        return lambda texts: [repr(float(value)) for value in fitted.predict(features.of(texts))]

    return fit


def score_values(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The metrics of regression, and the absolute error of each text."""
    true, predicted = _numbers(truth), _numbers(predictions)
    metrics = scores(true, predicted)
    del metrics["examples"]
    return metrics, {"mae": np.abs(predicted - true)}


def _numbers(fields: Sequence[str]) -> np.ndarray:
    return np.array([float(field) for field in fields])


METHODS = (
    Method("mean", "the mean", mean_value),
    Method("ridge", "ridge regression over words and pairs", ridge_regression, (64.0, 16.0, 4.0, 1.0, 0.25), 3, "alpha"),
)
