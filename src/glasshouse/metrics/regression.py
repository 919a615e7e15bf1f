"""Metrics of regression: functions of the true and the predicted number of each text."""

from dataclasses import dataclass

import numpy as np

from glasshouse.metrics.metric import Metric, score


@dataclass(frozen=True)
class PredictedNumbers:
    """The true and the predicted number of each text."""

    truth: np.ndarray
    prediction: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        return self.prediction - self.truth


def r_squared(truth: np.ndarray, predictions: np.ndarray) -> float:
    """R²: 0 for the mean of the true numbers. If all of these are equal it is 1 without an error, else 0."""
    residual, total = float(((predictions - truth) ** 2).sum()), float(((truth - truth.mean()) ** 2).sum())
    return 1 - residual / total if total else float(residual == 0)


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """The correlation of the ranks of two arrays. It is 0 if one of them is constant."""
    first, second = (ranks(values) - (len(values) - 1) / 2 for values in (first, second))
    scale = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / scale if scale else 0.0


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each number from 0; equal numbers share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[places]


RMSE = Metric("rmse", "RMSE", "{:.4g}", "lower").of(lambda numbers: np.sqrt((numbers.errors**2).mean()))
MAE = Metric("mae", "mean absolute error", "{:.4g}", "lower").mean_of(lambda numbers: np.abs(numbers.errors))
R2 = score("r2", "R²").of(lambda numbers: r_squared(numbers.truth, numbers.prediction))
SPEARMAN = score("spearman", "Spearman correlation").of(lambda numbers: spearman(numbers.truth, numbers.prediction))
