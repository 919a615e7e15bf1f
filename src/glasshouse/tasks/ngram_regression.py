"""Multinomial logistic regression over sparse features, fitted by L-BFGS. Knows no model and no text.

Axes: N texts, K features, C classes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Inverse strengths of the L2 penalty, from strong to weak, as scikit-learn's C. The validation texts choose one.
INVERSE_PENALTIES = (3.0, 10.0, 30.0)
# Without validation texts.
DEFAULT_INVERSE_PENALTY = 10.0
ITERATIONS = 30
# Number of earlier gradients that L-BFGS keeps. It bounds the memory.
HISTORY = 5
FOLDS = 4


@dataclass(frozen=True)
class LabelledRows:
    """The features of texts (N, K), a sparse matrix of scipy, and the class of each."""

    features: Any
    labels_N: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> "LabelledRows":
        return LabelledRows(self.features[chosen], self.labels_N[chosen])


@dataclass(frozen=True)
class LinearModel:
    """Logits = features times weights plus biases."""

    weights_KC: np.ndarray
    biases_C: np.ndarray

    def logits(self, features: Any) -> np.ndarray:
        return features @ self.weights_KC + self.biases_C

    def expanded(self, places: np.ndarray, features: int) -> "LinearModel":
        """The model of more features, of which its own stand at these places. The others have weight 0."""
        weights_KC = np.zeros((features, len(self.biases_C)))
        weights_KC[places] = self.weights_KC
        return LinearModel(weights_KC, self.biases_C)


def fit(
    train: LabelledRows, validation: LabelledRows, classes: int, progress: Callable[[float], None] = lambda share: None
) -> tuple[LinearModel, np.ndarray]:
    """The model with the lowest validation loss, and for each training text the logits of a model that did not see it."""
    used = np.unique(train.features.indices)
    rows = LabelledRows(train.features[:, used], train.labels_N)
    held_out = LabelledRows(validation.features[:, used], validation.labels_N)
    zero = LinearModel(np.zeros((len(used), classes)), np.zeros(classes))
    model, inverse_penalty = _best(rows, held_out, zero)
    out_of_fold_NC = np.zeros((len(rows.labels_N), classes))
    folds_N = np.arange(len(rows.labels_N)) % FOLDS
    for fold in range(FOLDS):
        progress((fold + 1) / (FOLDS + 1))
        others = _minimise(rows[folds_N != fold], inverse_penalty, zero)
        out_of_fold_NC[folds_N == fold] = others.logits(rows.features[folds_N == fold])
    return model.expanded(used, train.features.shape[1]), out_of_fold_NC


def _best(rows: LabelledRows, held_out: LabelledRows, zero: LinearModel) -> tuple[LinearModel, float]:
    """The model whose penalty has the lowest loss on held-out texts, and this penalty. Each fit starts from the last."""
    if not len(held_out.labels_N):
        return _minimise(rows, DEFAULT_INVERSE_PENALTY, zero), DEFAULT_INVERSE_PENALTY
    models = [zero]
    for inverse_penalty in INVERSE_PENALTIES:
        models.append(_minimise(rows, inverse_penalty, models[-1]))
    losses = [_cross_entropy(model.logits(held_out.features), held_out.labels_N)[0] for model in models[1:]]
    best = int(np.argmin(losses))
    return models[best + 1], INVERSE_PENALTIES[best]


def _minimise(rows: LabelledRows, inverse_penalty: float, start: LinearModel) -> LinearModel:
    """Minimise the mean cross-entropy plus |weights|^2 / (2 N inverse_penalty), from a start."""
    from scipy.optimize import minimize

    shape = start.weights_KC.shape
    penalty = 1 / (max(len(rows.labels_N), 1) * inverse_penalty)
    transposed = rows.features.T.tocsr()

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        model = _unpacked(values, shape)
        loss, gradient_NC = _cross_entropy(model.logits(rows.features), rows.labels_N)
        gradient_KC = transposed @ gradient_NC + penalty * model.weights_KC
        return (
            loss + penalty / 2 * float((model.weights_KC**2).sum()),
            np.concatenate([gradient_KC.ravel(), gradient_NC.sum(0)]),
        )

    first = np.concatenate([start.weights_KC.ravel(), start.biases_C])
    found = minimize(objective, first, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS, "maxcor": HISTORY})
    return _unpacked(found.x, shape)


def _unpacked(values: np.ndarray, shape: tuple[int, ...]) -> LinearModel:
    classes = shape[1]
    return LinearModel(values[:-classes].reshape(shape), values[-classes:])


def _cross_entropy(logits_NC: np.ndarray, labels_N: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean cross-entropy and its gradient with respect to the logits."""
    from scipy.special import log_softmax

    log_probabilities_NC = log_softmax(logits_NC, axis=1)
    texts = np.arange(len(labels_N))
    gradient_NC = np.exp(log_probabilities_NC)
    gradient_NC[texts, labels_N] -= 1
    return -float(log_probabilities_NC[texts, labels_N].mean()), gradient_NC / len(labels_N)
