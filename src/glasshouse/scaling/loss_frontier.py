"""The lowest loss for a compute by a fitted law, and the compute for a loss. Knows nothing of a second recipe.

The first row of an array is the fit, and each other row a resample. A loss that no compute reaches needs infinite compute.

Axes: R rows, P places along the frontier.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from glasshouse.scaling import regression
from glasshouse.scaling.isoflop_law import IsoFLOPFit
from glasshouse.scaling.parametric_law import PARAMETRIC, ParametricFit, ParametricLaw
from glasshouse.scaling.regression import Array
from glasshouse.scaling.scaling_fit import ISOFLOP, ScalingFit

METHODS = (ISOFLOP, PARAMETRIC)
# A power law with a floor has three coefficients. A power law without one was wrong in nearly all simulations.
LEAST_BUDGETS = 3
# Starts of the fit: the floor as a share of the lowest loss, and the exponent.
FLOORS, EXPONENTS = (0.01, 0.4, 0.8), (0.05, 0.15, 0.4)
# Bisection in log D: how far below the different tokens, how many times R repetitions above them, and how many halvings.
SEARCH_SPAN, MOST_REPEATED, HALVINGS = 80.0, 500.0, 60


@dataclass(frozen=True)
class PowerFrontier:
    """L = E + K C^-p. Each coefficient has shape (R, 1)."""

    floor: Array  # E
    log_scale: Array  # log K
    exponent: Array  # p

    def losses(self, log_flops: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(self.floor + np.exp(self.log_scale - self.exponent * log_flops))

    def log_flops(self, losses: Array) -> Array:
        above = losses - self.floor
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (self.log_scale - np.log(above)) / self.exponent
        return np.asarray(np.where(above <= 0, np.inf, found))


@dataclass(frozen=True)
class RepeatedFrontier:
    """The frontier of the law with repeated tokens, for data of `different_tokens`. Each coefficient has shape (R, 1).

    Along the frontier a A N^-a = b B D'^-b s, with D' the effective tokens and s the slope of log D' in log D. So D gives N,
    and N and D give C and L. C grows with D and L falls, and both are inverted by bisection.
    """

    law: ParametricLaw
    different_tokens: float
    flops_factor: float

    def losses(self, log_flops: Array) -> Array:
        wanted = np.broadcast_to(log_flops, (len(self.law.floor), np.shape(log_flops)[-1]))
        return self._at(self._bisect(lambda log_tokens: self._at(log_tokens)[0] < wanted, wanted.shape))[1]

    def log_flops(self, losses: Array) -> Array:
        found = self._bisect(lambda log_tokens: self._at(log_tokens)[1] > losses, losses.shape)
        most_effective = self.different_tokens * (1 + self.law.repetitions)
        lowest = self.law.floor + self.law.token_scale * most_effective**-self.law.token_exponent
        return np.asarray(np.where(losses <= lowest, np.inf, self._at(found)[0]))

    def _bisect(self, too_few: Callable[[Array], NDArray[np.bool_]], shape: tuple[int, ...]) -> Array:
        """log D (R, P) above which `too_few` no longer holds."""
        low = np.broadcast_to(np.log(self.different_tokens) - SEARCH_SPAN, shape)
        high = np.broadcast_to(np.log(self.different_tokens * (1 + MOST_REPEATED * self.law.repetitions)), shape)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            more = too_few(middle)
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return np.asarray((low + high) / 2)

    def _at(self, log_tokens: Array) -> tuple[Array, Array]:
        """log C and L at the place of the frontier that has these tokens."""
        law = self.law
        with np.errstate(all="ignore"):
            tokens = np.exp(log_tokens)
            log_effective = np.log(law.effective_tokens(tokens, self.different_tokens))
            log_slope = log_tokens - log_effective - np.maximum(tokens / self.different_tokens - 1, 0.0) / law.repetitions
            log_token_term = np.log(law.token_scale) - law.token_exponent * log_effective
            log_parameter_term = np.log(law.token_exponent / law.parameter_exponent) + log_token_term + log_slope
            log_parameters = (np.log(law.parameter_scale) - log_parameter_term) / law.parameter_exponent
            log_flops = np.log(self.flops_factor) + log_parameters + log_tokens
            return log_flops, law.floor + np.exp(log_parameter_term) + np.exp(log_token_term)


# `losses`: (R, P) for the logarithm of the compute (P), or (R, P). `log_flops`: the reverse, for losses (R, P).
LossFrontier = PowerFrontier | RepeatedFrontier


@dataclass(frozen=True)
class MethodFrontier:
    """The frontier by one method: `lowest` and `highest` are the compute that it was fitted to.

    points: the compute and the lowest losses (R) of each budget, if the method has them.
    """

    method: str
    frontier: LossFrontier
    freedom: int
    lowest: float
    highest: float
    points: tuple[tuple[float, Array], ...] = ()


def frontiers(fit: ScalingFit) -> list[MethodFrontier]:
    """The frontiers that a fit allows: through the lowest losses of the IsoFLOP curves, and of a fitting parametric law."""
    found = []
    if fit.isoflop is not None and len(fit.isoflop.usable) >= LEAST_BUDGETS:
        found.append(isoflop_frontier(fit.isoflop))
    if (law := fit.best_parametric) is not None and law.fits:
        measured = fit.compared.budgets if len(fit.compared.budgets) else fit.measurements.flops
        frontier = parametric_frontier(law, fit.flops_factor, fit.different_tokens)
        found.append(MethodFrontier(PARAMETRIC, frontier, law.freedom, float(measured.min()), float(measured.max())))
    return found


def isoflop_frontier(fit: IsoFLOPFit) -> MethodFrontier:
    budgets = [parabola.budget for parabola in fit.usable]
    rows = np.stack([parabola.lowest_losses for parabola in fit.usable], 1)
    # A resample without a minimum keeps the lowest loss of the fit, as in the power law of the best sizes.
    rows = np.where(np.isfinite(rows) & (rows > 0), rows, rows[0])
    frontier = fit_power(np.log(budgets), rows)
    return MethodFrontier(ISOFLOP, frontier, fit.freedom, budgets[0], budgets[-1], tuple(zip(budgets, rows.T, strict=True)))


def fit_power(log_flops: Array, losses: Array) -> PowerFrontier:
    """Fit L = E + K C^-p to rows of losses (R, P), by least squares of log L."""
    centre = log_flops.mean()
    x, targets = log_flops - centre, np.log(losses)

    def model(coefficients: Array) -> tuple[Array, Array]:
        log_floor, log_scale, log_exponent = (column[:, None] for column in coefficients.T)
        exponent = np.exp(np.clip(log_exponent, -20, 5))
        terms = np.stack(np.broadcast_arrays(log_floor, log_scale - exponent * x))
        predictions = np.logaddexp(*terms)
        shares = np.exp(terms - predictions)
        return predictions, np.stack([*shares, -shares[1] * exponent * x], -1)

    lowest, middle = losses[0].min(), np.median(losses[0])
    starts = np.log([[share * lowest, middle - share * lowest, power] for share, power in product(FLOORS, EXPONENTS)])
    first, _ = regression.best_of_starts(model, targets[0], starts, np.inf)
    again, _ = regression.fit(model, targets[1:], np.repeat(first[None], len(losses) - 1, 0), np.inf)
    log_floor, log_scale, log_exponent = np.concatenate([first[None], again]).T[..., None]
    exponent = np.exp(np.clip(log_exponent, -20, 5))
    return PowerFrontier(np.exp(log_floor), log_scale + exponent * centre, exponent)


def parametric_frontier(fit: ParametricFit, flops_factor: float, different_tokens: float | None) -> LossFrontier:
    """The frontier of a parametric law for C = `flops_factor` N D."""
    law = fit.laws.changed(lambda values: values[:, None])
    if law.repetitions is not None and different_tokens is not None:
        return RepeatedFrontier(law, different_tokens, flops_factor)
    # With N = G (N D)^(b / (a + b)) both terms fall as (N D)^-p, p = a b / (a + b).
    a, b = law.parameter_exponent, law.token_exponent
    with np.errstate(all="ignore"):  # a resample whose coefficients overflow is not a number, and widens intervals
        exponent = a * b / (a + b)
        log_ratio = np.log(a * law.parameter_scale / (b * law.token_scale)) / (a + b)  # log G
        log_scale = np.logaddexp(np.log(law.parameter_scale) - a * log_ratio, np.log(law.token_scale) + b * log_ratio)
    return PowerFrontier(law.floor, log_scale + exponent * np.log(flops_factor), exponent)
