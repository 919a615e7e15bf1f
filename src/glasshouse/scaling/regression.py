"""Nonlinear regression with the Huber loss, and the wild bootstrap for the intervals of its results.

Many problems and many starts are one vectorised program: Levenberg-Marquardt steps for iteratively reweighted least squares.
`scipy.optimize.least_squares` solves one problem at a time, about 20 ms each, and an interval needs hundreds of fits.

The wild bootstrap multiplies each residual by a random weight of mean 0 and variance 1 and adds it to the fit. Measurements
of one run share their weight. Residuals are made larger first, because a fit is closer to its own measurements than to new
ones: divided by 1 minus their leverage (HC3 of MacKinnon and White, 1985), or by its root (HC2) for parabolas of few points.

A quantity of a law is an array with the value of the fit first, and then those of the resamples.

Axes: P problems, K coefficients, M measurements, R resamples.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Array = NDArray[np.float64]
# Coefficients (P, K) -> predictions (P, M) and their derivatives (P, M, K).
Model = Callable[[Array], tuple[Array, Array]]

# Residuals beyond so many standard deviations count linearly. 1.345 keeps 95 % of the efficiency of least squares.
HUBER_DEVIATIONS = 1.345
MOST_STEPS = 200
# A problem has converged if a step lowers its cost by a smaller share.
TOLERANCE = 1e-9
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-12, 1e12
# Relative to the largest curvature, so that a coefficient on which nothing depends stays where it is.
LEAST_CURVATURE = 1e-12

# Six values of equal probability (Webb, 2023): with few runs, signs alone would give few different resamples.
WEBB = np.sqrt(np.array([0.5, 1.0, 1.5]))
WEIGHTS = np.concatenate([-WEBB, WEBB])
# A leverage of 1 would say that a point is fitted exactly, whatever its value.
MOST_LEVERAGE = 0.9
# The power of 1 minus the leverage.
HC2, HC3 = 0.5, 1.0
# Of the intervals.
LEVEL = 0.95


def huber_cost(residuals: Array, delta: float) -> Array:
    """The summed Huber loss (P) of residuals (P, M)."""
    size = np.abs(residuals)
    inside = size <= delta
    return np.asarray(np.where(inside, size**2 / 2, delta * (size - delta / 2)).sum(-1))


def fit(model: Model, targets: Array, start: Array, delta: float) -> tuple[Array, Array]:
    """Coefficients (P, K) that minimise the Huber loss of predictions against targets (P, M), and the loss (P) they reach.

    delta: from what residual on the loss is linear; infinity is least squares.
    """
    coefficients = start.copy()
    predictions, derivatives = model(coefficients)
    residuals = predictions - targets
    cost = huber_cost(residuals, delta)
    damping = np.full(len(start), FIRST_DAMPING)
    active = np.isfinite(cost)
    cost = np.where(active, cost, np.inf)
    for _ in range(MOST_STEPS):
        if not active.any():
            break
        weights = np.minimum(1.0, delta / np.maximum(np.abs(residuals), 1e-300))
        weighted = derivatives * weights[..., None]
        curvature = np.swapaxes(weighted, 1, 2) @ derivatives
        slope = np.einsum("pmk,pm->pk", weighted, residuals)
        diagonal = np.einsum("pkk->pk", curvature)
        scale = np.maximum(diagonal, LEAST_CURVATURE * diagonal.max(-1, keepdims=True) + 1e-300)
        system = curvature + (damping[:, None] * scale)[..., None] * np.eye(start.shape[1])
        step = np.where(active[:, None], -_solve(system, slope), 0.0)
        tried = coefficients + step
        new_predictions, new_derivatives = model(tried)
        new_residuals = new_predictions - targets
        new_cost = huber_cost(new_residuals, delta)
        better = active & (new_cost < cost)
        converged = better & (cost - new_cost <= TOLERANCE * cost)
        coefficients = np.where(better[:, None], tried, coefficients)
        residuals = np.where(better[:, None], new_residuals, residuals)
        derivatives = np.where(better[:, None, None], new_derivatives, derivatives)
        cost = np.where(better, new_cost, cost)
        damping = np.clip(np.where(better, damping / 5, damping * 4), LEAST_DAMPING, MOST_DAMPING)
        active &= ~converged & (damping < MOST_DAMPING) & (cost > 0)
    return coefficients, cost


def best_of_starts(model: Model, targets: Array, starts: Array, delta: float) -> tuple[Array, Array]:
    """Of fits from all starts (P, K) to the same targets (M): the coefficients (K) of the best, and the costs of all (P)."""
    repeated = np.broadcast_to(targets, (len(starts), len(targets)))
    coefficients, costs = fit(model, repeated, starts, delta)
    return coefficients[np.argmin(costs)], costs


def robust_deviation(residuals: Array, coefficients: int) -> float:
    """The standard deviation of residuals (M) from their median size, for so many fitted coefficients."""
    freedom = max(len(residuals) - coefficients, 1)
    return float(np.median(np.abs(residuals)) / 0.6745 * np.sqrt(len(residuals) / freedom))


def _solve(systems: Array, right: Array) -> Array:
    """The solutions (P, K) of linear systems (P, K, K). A singular one gets zeros, and more damping in the next step."""
    try:
        return np.asarray(np.linalg.solve(systems, right[..., None])[..., 0])
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(np.nan_to_num(systems))
        return np.asarray((inverse @ right[..., None])[..., 0])


def leverages(derivatives: Array) -> Array:
    """The leverage (M) of each measurement in a regression with these derivatives (M, K)."""
    inverse = np.linalg.pinv(derivatives.T @ derivatives)
    return np.asarray(np.clip(np.einsum("mk,kl,ml->m", derivatives, inverse, derivatives), 0.0, MOST_LEVERAGE))


def resamples(
    fitted: Array, residuals: Array, leverage: Array, runs: NDArray[np.int64], count: int, seed: int, power: float = HC3
) -> Array:
    """`count` resamples (count, M) of measurements. `runs` (M) numbers the run of each; `power` is HC2 or HC3."""
    generator = np.random.default_rng(seed)
    weights = generator.choice(WEIGHTS, (count, int(runs.max()) + 1))[:, runs]
    return np.asarray(fitted + weights * residuals / (1 - leverage) ** power)


def interval(values: Array, freedom: float) -> tuple[float, float]:
    """The 95 % interval of a quantity from its values (R) in resamples, for noise with so many degrees of freedom.

    The quantiles lie a little further out, as Student's t does beyond the normal distribution: the noise is estimated too
    (the expanded percentile interval of Hesterberg, 2015).
    """
    outside = float(ndtr(stdtrit(max(freedom, 1.0), (1 - LEVEL) / 2)))
    low, high = np.quantile(values, [outside, 1 - outside], method="weibull")
    return float(low), float(high)


@dataclass(frozen=True)
class LawEstimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def estimate(values: Array, freedom: float) -> LawEstimate:
    """The value of the fit with the interval of the resamples (1 + R), for noise with so many degrees of freedom."""
    finite = values[1:][np.isfinite(values[1:])]
    low, high = interval(finite, freedom) if len(finite) else (np.nan, np.nan)
    return LawEstimate(float(values[0]), low, high)
