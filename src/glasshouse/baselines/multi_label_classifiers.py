"""Baselines of multi-label classification: the commonest set of labels, and a logistic regression for each label.

The labels of a text are one string, joined by `|`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from glasshouse.baselines import sparse_features
from glasshouse.baselines.field_baselines import Examples, Method, Predict
from glasshouse.baselines.text_classifiers import binary_regression, commonest_class

SEPARATOR = "|"


def one_versus_rest(training: Examples) -> Callable[[float], Predict]:
    """A logistic regression over words and pairs for each label. The strength is scikit-learn's C."""
    names = sorted({name for field in training.fields for name in _labels(field)})
    table = membership(training.fields, names)
    features = sparse_features.words_and_pairs(training.texts)

    def fit(strength: float) -> Predict:
        # A label that all training texts have, or none, is predicted for all texts or for none.
        fitted = [
            binary_regression(strength).fit(features.training, column) if 0 < column.sum() < len(column) else None
            for column in table.T
        ]

        def predict(texts: Sequence[str]) -> list[str]:
            rows = features.of(texts)
            columns = [
                model.predict(rows) if model else np.full(len(texts), column[0])
                for model, column in zip(fitted, table.T, strict=True)
            ]
            return [
                SEPARATOR.join(name for name, column in zip(names, columns, strict=True) if column[place])
                for place in range(len(texts))
            ]

        return predict

    return fit


def score_label_sets(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Micro and macro F1 and the share of exact sets, and whether each set is exact. Macro F1 is over labels that occur."""
    names = sorted({name for field in (*truth, *predictions) for name in _labels(field)})
    true, predicted = membership(truth, names), membership(predictions, names)
    both, either = (true & predicted).sum(0), true.sum(0) + predicted.sum(0)
    occurs = true.any(0)
    exact = (true == predicted).all(1).astype(float)
    by_label = np.divide(2 * both, either, out=np.zeros(len(names)), where=either > 0)
    metrics = {
        "micro_f1": float(2 * both.sum() / either.sum()) if either.sum() else 1.0,
        "macro_f1": float(by_label[occurs].mean()) if occurs.any() else 1.0,
        "exact": float(exact.mean()),
    }
    return metrics, {"exact": exact}


def membership(fields: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Whether each text (row) has each label (column)."""
    number = {name: index for index, name in enumerate(names)}
    table = np.zeros((len(fields), len(names)), bool)
    for row, field in enumerate(fields):
        table[row, [number[name] for name in _labels(field)]] = True
    return table


def _labels(field: str) -> set[str]:
    return set(field.split(SEPARATOR)) - {""}


METHODS = (
    Method("commonest-labels", "the commonest set of labels of the training texts", commonest_class),
    Method(
        "one-versus-rest",
        "a logistic regression over words and pairs for each label",
        one_versus_rest,
        (0.25, 1.0, 4.0, 16.0, 64.0),
        2,
        most_characters=8e6,
        most_work=80e6,
    ),
)
