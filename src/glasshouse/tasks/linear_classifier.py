"""A linear classifier over sparse features: logistic regression plus naive Bayes. Knows no model and no text.

They make different errors (Ng and Jordan, On Discriminative vs. Generative Classifiers, 2001). The first half of the
features are weights, for the regression and one naive Bayes; the second half are counts, for another. The sum of their
logits, each times a factor, is again linear. The factors minimise the loss, plus a small penalty, on training texts whose
logits come from models that were fitted without them (stacking).

Axes: N texts, K features, C classes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# Inverse strengths of the L2 penalty, from strong to weak, as scikit-learn's C. The validation texts choose one.
INVERSE_PENALTIES = (3.0, 10.0, 100.0)
# Without validation texts.
DEFAULT_INVERSE_PENALTY = 10.0
ITERATIONS = 60
# A fit ends when an iteration lowers the loss by a smaller share.
TOLERANCE = 1e-4
# Times the mean square of each model's logits, added to the loss that chooses the factors. Without it the factors have no
# bound if the classes can be told apart without an error. With it the loss is then about as large as this number.
LOGIT_PENALTY = 1e-4
# Number of earlier gradients that L-BFGS keeps. It bounds the memory.
HISTORY = 5
FOLDS = 4
# With more classes naive Bayes stands alone: the time of a regression grows with their number.
MAX_REGRESSION_CLASSES = 50
# Added to the total of each feature in each class in naive Bayes.
SMOOTHING = 0.3


@dataclass(frozen=True)
class LabelledRows:
    """The features of texts (N, K), a sparse matrix of scipy without negative values, and whether each class applies.

    `exclusive`: exactly one class applies to each text, and probabilities are a softmax; otherwise a sigmoid of each logit.
    `weights_N` are the weights of the texts in the loss.
    """

    features: Any
    truth_NC: np.ndarray
    weights_N: np.ndarray
    exclusive: bool

    def __getitem__(self, chosen: np.ndarray) -> "LabelledRows":
        return replace(
            self, features=self.features[chosen], truth_NC=self.truth_NC[chosen], weights_N=self.weights_N[chosen]
        )

    def columns(self, begin: int, end: int) -> "LabelledRows":
        return replace(self, features=self.features[:, begin:end])

    def loss(self, logits_NC: np.ndarray) -> tuple[float, np.ndarray]:
        """The cross-entropy, summed over the classes and averaged over the texts, and its gradient by the logits."""
        from scipy.special import expit, log_expit, log_softmax

        if self.exclusive:
            log_probabilities_NC = log_softmax(logits_NC, axis=1)
            losses_N = -(log_probabilities_NC * self.truth_NC).sum(1)
            probabilities_NC = np.exp(log_probabilities_NC)
        else:
            losses_N = -(log_expit(logits_NC) - logits_NC * (1 - self.truth_NC)).sum(1)
            probabilities_NC = expit(logits_NC)
        shares_N = self.weights_N / max(len(self.weights_N), 1)
        return float(losses_N @ shares_N), (probabilities_NC - self.truth_NC) * shares_N[:, None]


@dataclass(frozen=True)
class LinearModel:
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
    train: LabelledRows, validation: LabelledRows, progress: Callable[[float], None] = lambda share: None
) -> tuple[LinearModel, np.ndarray]:
    """The model, and for each training text the logits (N, C) of one that did not see it. Validation chooses the penalty."""
    used = np.unique(train.features.indices)
    rows, held_out = (replace(given, features=given.features[:, used]) for given in (train, validation))
    weights = int((used < train.features.shape[1] // 2).sum())
    few_classes = rows.truth_NC.shape[1] <= MAX_REGRESSION_CLASSES
    inverse_penalty = _best_penalty(rows.columns(0, weights), held_out.columns(0, weights)) if few_classes else 0.0
    models = _models(rows, weights, inverse_penalty)
    out_of_fold = [np.zeros(rows.truth_NC.shape) for _ in models]
    folds_N = np.arange(len(rows.truth_NC)) % FOLDS
    for fold in range(FOLDS):
        progress((fold + 1) / (FOLDS + 1))
        left_out = folds_N == fold
        for logits_NC, model in zip(out_of_fold, _models(rows[~left_out], weights, inverse_penalty), strict=True):
            logits_NC[left_out] = model.logits(rows.features[left_out])
    factors = _factors(rows, out_of_fold)
    stacked = LinearModel(
        np.tensordot(factors, [model.weights_KC for model in models], 1),
        np.tensordot(factors, [model.biases_C for model in models], 1),
    )
    return stacked.expanded(used, train.features.shape[1]), np.tensordot(factors, out_of_fold, 1)


def _models(rows: LabelledRows, weights: int, inverse_penalty: float) -> list[LinearModel]:
    """The models to be stacked, of all features: first `weights`, then counts. An inverse penalty of 0: no regression."""
    features = rows.features.shape[1]
    of_weights, of_counts = rows.columns(0, weights), rows.columns(weights, features)
    first, last = np.arange(weights), np.arange(weights, features)
    models = [(_naive_bayes(of_weights), first), (_naive_bayes(of_counts), last)]
    if inverse_penalty:
        models.append((_regression(of_weights, inverse_penalty), first))
    return [model.expanded(places, features) for model, places in models]


def _factors(rows: LabelledRows, logits: list[np.ndarray]) -> np.ndarray:
    """Factors, none below 0, with which the sum of several logits (N, C) has the lowest loss plus penalty."""
    from scipy.optimize import minimize

    penalties = LOGIT_PENALTY * np.array([np.square(each_NC).mean() for each_NC in logits])

    def objective(factors: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient_NC = rows.loss(np.tensordot(factors, logits, 1))
        gradients = np.array([(gradient_NC * each_NC).sum() for each_NC in logits])
        return loss + float(penalties @ factors**2), gradients + 2 * penalties * factors

    start = np.full(len(logits), 1 / len(logits))
    return minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(logits)).x


def _naive_bayes(rows: LabelledRows) -> LinearModel:
    """Multinomial naive Bayes with the features as counts.

    If several classes can apply to a text, each class stands against the texts that it does not apply to.
    """
    log_KC, log_C = _log_probabilities(rows, rows.truth_NC)
    if rows.exclusive:
        return LinearModel(log_KC - log_KC.mean(1, keepdims=True), log_C - log_C.mean())
    others_KC, others_C = _log_probabilities(rows, 1 - rows.truth_NC)
    return LinearModel(log_KC - others_KC, log_C - others_C)


def _log_probabilities(rows: LabelledRows, truth_NC: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of the share of each feature in each class, and of the texts of each class."""
    weighted_NC = truth_NC * rows.weights_N[:, None]
    totals_KC = rows.features.T @ weighted_NC + SMOOTHING
    return np.log(totals_KC / totals_KC.sum(0)), np.log(weighted_NC.sum(0) + SMOOTHING)


def _best_penalty(rows: LabelledRows, held_out: LabelledRows) -> float:
    """The inverse penalty whose regression has the lowest loss on held-out texts. Each fit starts from the one before."""
    if not len(held_out.truth_NC):
        return DEFAULT_INVERSE_PENALTY
    losses, model = [], None
    for inverse_penalty in INVERSE_PENALTIES:
        model = _regression(rows, inverse_penalty, model)
        losses.append(held_out.loss(model.logits(held_out.features))[0])
    return INVERSE_PENALTIES[int(np.argmin(losses))]


def _regression(rows: LabelledRows, inverse_penalty: float, start: LinearModel | None = None) -> LinearModel:
    """Minimise the loss plus |weights|^2 / (2 N inverse_penalty), from a start, by default 0."""
    from scipy.optimize import minimize

    shape = rows.features.shape[1], rows.truth_NC.shape[1]
    start = start or LinearModel(np.zeros(shape), np.zeros(shape[1]))
    penalty = 1 / (max(len(rows.truth_NC), 1) * inverse_penalty)
    transposed = rows.features.T.tocsr()

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        model = _unpacked(values, shape)
        loss, gradient_NC = rows.loss(model.logits(rows.features))
        gradient_KC = transposed @ gradient_NC + penalty * model.weights_KC
        penalised = loss + penalty / 2 * float((model.weights_KC**2).sum())
        return penalised, np.concatenate([gradient_KC.ravel(), gradient_NC.sum(0)])

    first = np.concatenate([start.weights_KC.ravel(), start.biases_C])
    # A weight's gradient is small where few texts have its feature, so the loss decides when it is enough.
    best = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "maxcor": HISTORY, "gtol": 0.0, "ftol": TOLERANCE},
    )
    return _unpacked(best.x, shape)


def _unpacked(values: np.ndarray, shape: tuple[int, int]) -> LinearModel:
    classes = shape[1]
    return LinearModel(values[:-classes].reshape(shape), values[-classes:])
