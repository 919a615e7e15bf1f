"""Classification: accuracy, and what keeps it honest. Pure functions of arrays of class numbers."""

import numpy as np


def confusion(truth: np.ndarray, answers: np.ndarray, classes: int) -> np.ndarray:
    """How often class i (a row) was taken for class j (a column)."""
    return np.bincount(truth * classes + answers, minlength=classes * classes).reshape(classes, classes)


def scores(table: np.ndarray, names: tuple[str, ...]) -> dict[str, float]:
    """From a confusion table: accuracy, what always answering the commonest class would have, macro F1, recall by class."""
    total = int(table.sum())
    right = np.diag(table).astype(float)
    there, said = table.sum(1), table.sum(0)
    recall = np.divide(right, there, out=np.zeros(len(right)), where=there > 0)
    f1 = np.divide(2 * right, there + said, out=np.zeros(len(right)), where=there + said > 0)
    occurs = there > 0
    found = {
        "accuracy": float(right.sum() / total),
        "majority": float(there.max() / total),
        "macro_f1": float(f1[occurs].mean()),
        "examples": float(total),
    }
    return {**found, **{f"recall.{name}": float(recall[i]) for i, name in enumerate(names) if occurs[i]}}
