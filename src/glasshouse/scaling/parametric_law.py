"""The parametric law L = E + A / N^a + B / D^b of Hoffmann et al. (Training Compute-Optimal Large Language Models, 2022).

N parameters, D tokens. Where tokens repeat, D is the effective number U + U R (1 - exp(-(D / U - 1) / R)) of U different
tokens (Muennighoff et al., Scaling Data-Constrained Language Models, 2023): repeated tokens are worth less and less. R is
the number of repetitions after which they have given 63 % of what they can give.

The law is fitted to the logarithm of the loss. Logarithms of N and D are centred, so that A and a, and B and b, are less
correlated.

Axes: P problems, M measurements, R resamples. The first of 1 + R values is that of the fit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from glasshouse.scaling import regression
from glasshouse.scaling.measurements import FewSizes, MeasuredLosses
from glasshouse.scaling.regression import Array
from glasshouse.specs.errors import DataError

PARAMETRIC, REPEATED = "parametric", "parametric, repeated data"
# Starts: shares of the lowest loss that no model can avoid, of the rest that is due to N, and exponents.
FLOORS, SHARES, EXPONENTS = (0.1, 0.4, 0.7, 0.9), (0.2, 0.5, 0.8), (0.15, 0.4, 0.8)
COEFFICIENTS = 5
# A law whose deviations have a larger root mean square, as a share of the loss, does not fit.
POOR_FIT = 0.05
FIRST_REPETITIONS = 5.0
# Different sizes, and different numbers of tokens; measurements.
LEAST_VALUES, LEAST_MEASUREMENTS = 3, 8
# The ratio of the largest N D to the smallest.
LEAST_RANGE = 1.5
# Resamples of thin data may have exponents that overflow. Their results are not finite, and intervals leave them out.
_overflowing = np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore")
# Sizes that are tried for the best one at a budget, and how far beyond the best without repetition, in log N.
GRID, GRID_SPAN = 400, 7.0


@dataclass(frozen=True)
class ParametricLaw:
    """Coefficients of one law, or of several laws as arrays."""

    floor: Any  # E
    parameter_scale: Any  # A
    token_scale: Any  # B
    parameter_exponent: Any  # a
    token_exponent: Any  # b
    repetitions: Any = None  # R; None if repeated tokens count as new ones

    def changed(self, change: Callable[[Any], Any]) -> "ParametricLaw":
        return ParametricLaw(*(None if each is None else change(each) for each in vars(self).values()))

    def effective_tokens(self, tokens: Any, different_tokens: Any) -> Any:
        """What so many tokens are worth, if so many of them are different."""
        if self.repetitions is None or different_tokens is None:
            return tokens
        repeated = np.maximum(tokens / different_tokens - 1, 0.0)
        gained = self.repetitions * -np.expm1(-repeated / self.repetitions)
        return np.where(repeated > 0, different_tokens * (1 + gained), tokens)

    @_overflowing
    def loss(self, parameters: Any, tokens: Any, different_tokens: Any = None) -> Any:
        effective = self.effective_tokens(tokens, different_tokens)
        return (
            self.floor
            + self.parameter_scale * parameters**-self.parameter_exponent
            + self.token_scale * effective**-self.token_exponent
        )

    @property
    @_overflowing
    def size_exponent(self) -> Any:
        """The exponent of C in the best N, for C proportional to N D: b / (a + b)."""
        return self.token_exponent / (self.parameter_exponent + self.token_exponent)

    @_overflowing
    def best_parameters(self, product_nd: Any, different_tokens: float | None = None) -> Any:
        """The best N for a given N D; by search if tokens repeat."""
        ratio = self.parameter_exponent * self.parameter_scale / (self.token_exponent * self.token_scale)
        exponent_sum = self.parameter_exponent + self.token_exponent
        best = ratio ** (1 / exponent_sum) * product_nd**self.size_exponent
        if self.repetitions is None or different_tokens is None:
            return best
        sizes = np.multiply.outer(np.exp(np.linspace(-GRID_SPAN, GRID_SPAN, GRID)), best)
        chosen = np.argmin(self.loss(sizes, product_nd / sizes, different_tokens), 0, keepdims=True)
        return np.take_along_axis(sizes, chosen, 0)[0]


@dataclass(frozen=True)
class ParametricFit:
    """The law of all measurements, and the laws of resamples.

    laws: arrays (1 + R), with the law of the measurements first. residuals: of the logarithm of the loss. starts_agreeing:
    the share of starts that end at the same optimum. information: Akaike's criterion with the correction for few
    measurements; lower is better.
    """

    laws: ParametricLaw
    residuals: Array
    starts_agreeing: float
    information: float

    @property
    def law(self) -> ParametricLaw:
        return self.laws.changed(lambda values: values[0])

    @property
    def name(self) -> str:
        return PARAMETRIC if self.laws.repetitions is None else REPEATED

    @property
    def freedom(self) -> int:
        return len(self.residuals) - COEFFICIENTS - (self.laws.repetitions is not None)

    @property
    def deviation(self) -> float:
        """The root mean square of the deviations from the measured losses, as a share of the loss."""
        return float(np.exp(np.sqrt(np.mean(self.residuals**2))) - 1)

    @property
    def fits(self) -> bool:
        return self.deviation <= POOR_FIT

    @property
    def exponents(self) -> Array:
        return np.asarray(self.laws.size_exponent)

    def best(self, budget: float, product_nd: float, different_tokens: float | None) -> tuple[Array, Array, Array]:
        sizes = self.laws.best_parameters(product_nd, different_tokens)
        tokens = product_nd / sizes
        return sizes, tokens, self.laws.loss(sizes, tokens, different_tokens)


def fit(
    measured: MeasuredLosses, resample_count: int, seed: int = 0, different_tokens: float | None = None
) -> ParametricFit:
    """Fit the law by the Huber loss from many starts, and to resamples of the measurements.

    The delta of the Huber loss follows from the residuals of a first fit. With `different_tokens` repeated tokens are worth
    less.
    """
    _check_measurements(measured)
    model = _Model(measured, different_tokens)
    targets = np.log(measured.losses)
    starts = model.starts(measured.losses)
    first, _ = regression.best_of_starts(model, targets, starts, np.inf)
    deviation = regression.robust_deviation(model(first[None])[0][0] - targets, model.coefficients)
    delta = regression.HUBER_DEVIATIONS * max(deviation, 1e-9)
    best, costs = regression.best_of_starts(model, targets, np.concatenate([starts, first[None]]), delta)
    predictions, derivatives = (values[0] for values in model(best[None]))
    residuals = targets - predictions
    leverage = regression.leverages(derivatives)
    drawn = regression.resamples(predictions, residuals, leverage, measured.runs, resample_count, seed)
    again, _ = regression.fit(model, drawn, np.repeat(best[None], resample_count, 0), delta)
    agreeing = float(np.mean(costs <= costs.min() * 1.001 + 1e-12))
    count, used = len(targets), model.coefficients + 1  # the noise is fitted too
    information = count * float(np.log(np.mean(residuals**2) + 1e-300)) + 2 * used * count / max(count - used - 1, 1)
    return ParametricFit(model.laws(np.vstack([best, again])), residuals, agreeing, information)


def _check_measurements(measured: MeasuredLosses) -> None:
    numbers = len(np.unique(np.round(np.log(measured.tokens), 3)))
    for quantity, count, fault in (("sizes", measured.sizes, FewSizes), ("numbers of tokens", numbers, DataError)):
        if count < LEAST_VALUES:
            raise fault(f"the measurements have {count} {quantity}, and the law needs {LEAST_VALUES}; measure more")
    product_nd = measured.parameters * measured.tokens
    if product_nd.max() < LEAST_RANGE * product_nd.min():
        raise DataError(f"all runs have nearly the same compute; measure two budgets that differ by {LEAST_RANGE:g} times")
    if len(measured) < LEAST_MEASUREMENTS:
        raise DataError(f"there are {len(measured)} measurements; the law needs {LEAST_MEASUREMENTS}")


class _Model:
    """Coefficients (P, 5 or 6): log E, log of the term of N at the mean log N, the same of D, log a, log b, and log R."""

    def __init__(self, measured: MeasuredLosses, different_tokens: float | None) -> None:
        self.tokens, self.different_tokens = measured.tokens, different_tokens
        self.coefficients = COEFFICIENTS + (different_tokens is not None)
        self.centres = np.log(measured.parameters).mean(), np.log(measured.tokens).mean()
        self.x = np.log(measured.parameters) - self.centres[0]

    def __call__(self, coefficients: Array) -> tuple[Array, Array]:
        log_floor, log_first, log_second, log_a, log_b = (column[:, None] for column in coefficients.T[:COEFFICIENTS])
        a, b = np.exp(np.clip(log_a, -20, 5)), np.exp(np.clip(log_b, -20, 5))
        y, slopes = self._effective(coefficients)
        terms = np.stack(np.broadcast_arrays(log_floor, log_first - a * self.x, log_second - b * y))
        largest = terms.max(0)
        total = np.exp(terms - largest).sum(0)
        predictions = largest + np.log(total)
        shares = np.exp(terms - predictions)
        columns = [*shares, -shares[1] * a * self.x, -shares[2] * b * y]
        if slopes is not None:
            columns.append(-shares[2] * b * slopes)
        return predictions, np.stack(columns, -1)

    def _effective(self, coefficients: Array) -> tuple[Array, Array | None]:
        """The centred logarithm of the effective tokens (P, M), and its derivative by log R."""
        if self.different_tokens is None:
            return np.log(self.tokens)[None] - self.centres[1], None
        repetitions = np.exp(np.clip(coefficients[:, COEFFICIENTS, None], -5, 12))
        repeated = np.maximum(self.tokens / self.different_tokens - 1, 0.0)
        share = repeated / repetitions
        gained = repetitions * -np.expm1(-share)
        effective = np.where(repeated > 0, self.different_tokens * (1 + gained), self.tokens)
        slopes = self.different_tokens * (gained - repeated * np.exp(-share)) / effective
        return np.log(effective) - self.centres[1], np.where(repeated > 0, slopes, 0.0)

    def starts(self, losses: Array) -> Array:
        lowest, spread = losses.min(), np.median(losses)
        rows = []
        for floor, share, a, b in product(FLOORS, SHARES, EXPONENTS, EXPONENTS):
            rest = max(spread - floor * lowest, 1e-6 * spread)
            rows.append([floor * lowest, share * rest, (1 - share) * rest, a, b, FIRST_REPETITIONS][: self.coefficients])
        return np.asarray(np.log(rows))

    @_overflowing
    def laws(self, coefficients: Array) -> ParametricLaw:
        log_floor, log_first, log_second, log_a, log_b = coefficients.T[:COEFFICIENTS]
        a, b = np.exp(np.clip(log_a, -20, 5)), np.exp(np.clip(log_b, -20, 5))
        scales = np.exp(log_first + a * self.centres[0]), np.exp(log_second + b * self.centres[1])
        repetitions = None if self.different_tokens is None else np.exp(np.clip(coefficients.T[COEFFICIENTS], -5, 12))
        return ParametricLaw(np.exp(log_floor), *scales, a, b, repetitions)
