"""Classification metrics: the confusion matrix, accuracy, macro F1, recall. Pure functions of arrays of class numbers."""

import numpy as np


def confusion_matrix(truth: np.ndarray, predictions: np.ndarray, classes: int) -> np.ndarray:
    """How often class i (row) was predicted as class j (column)."""
    return np.bincount(truth * classes + predictions, minlength=classes * classes).reshape(classes, classes)


def scores(matrix: np.ndarray, names: tuple[str, ...]) -> dict[str, float]:
    """Accuracy, the accuracy of always predicting the largest class, macro F1, and recall by class, from a confusion matrix.

    Macro F1 is the mean over the classes that occur. A class that does not occur has no recall.
    """
    total = int(matrix.sum())
    correct = np.diag(matrix).astype(float)
    actual, predicted = matrix.sum(1), matrix.sum(0)
    recall = np.divide(correct, actual, out=np.zeros(len(correct)), where=actual > 0)
    f1 = np.divide(2 * correct, actual + predicted, out=np.zeros(len(correct)), where=actual + predicted > 0)
    occurs = actual > 0
    metrics = {
        "accuracy": float(correct.sum() / total),
        "majority": float(actual.max() / total),
        "macro_f1": float(f1[occurs].mean()),
        "examples": float(total),
    }
    return {**metrics, **{f"recall.{name}": float(recall[i]) for i, name in enumerate(names) if occurs[i]}}
