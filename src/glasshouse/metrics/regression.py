"""Regression metrics: RMSE, mean absolute error, R² and Spearman's rank correlation. Pure functions of arrays of numbers."""

import numpy as np


def scores(truth: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """All metrics of predicted numbers. R² of the mean of the true numbers is 0."""
    errors = predictions - truth
    residual, total = float((errors**2).sum()), float(((truth - truth.mean()) ** 2).sum())
    return {
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
        "r2": 1 - residual / total if total else float(residual == 0),
        "spearman": spearman(truth, predictions),
        "examples": float(len(truth)),
    }


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """The correlation of the ranks of two arrays. It is 0 if one of them is constant."""
    first, second = (ranks(values) - (len(values) - 1) / 2 for values in (first, second))
    scale = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / scale if scale else 0.0


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each number from 0; equal numbers share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[places]
