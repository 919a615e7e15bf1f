"""Nonlinear regression with the Huber loss: many problems and many starts as one vectorised program.

Levenberg-Marquardt steps for iteratively reweighted least squares. `scipy.optimize.least_squares` solves one problem at a
time, about 20 ms each; an interval needs hundreds of fits, and the check of the intervals tens of thousands.

Axes: P problems, K coefficients, M measurements.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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


def huber_cost(residuals: Array, delta: Array) -> Array:
    """The summed Huber loss (P) of residuals (P, M)."""
    size = np.abs(residuals)
    inside = size <= delta
    return np.asarray(np.where(inside, size**2 / 2, delta * (size - delta / 2)).sum(-1))


def fit(
    model: Model, targets: Array, start: Array, delta: Array | float, most_steps: int = MOST_STEPS
) -> tuple[Array, Array]:
    """Coefficients (P, K) that minimise the Huber loss of predictions against targets (P, M), and the loss (P) they reach.

    delta: from what residual on the loss is linear, (P) or one for all; infinity is least squares.
    """
    coefficients = start.copy()
    limit = np.broadcast_to(np.asarray(delta, dtype=float), (len(start),))[:, None]
    predictions, derivatives = model(coefficients)
    residuals = predictions - targets
    cost = huber_cost(residuals, limit)
    damping = np.full(len(start), FIRST_DAMPING)
    active = np.isfinite(cost)
    cost = np.where(active, cost, np.inf)
    for _ in range(most_steps):
        if not active.any():
            break
        weights = np.minimum(1.0, limit / np.maximum(np.abs(residuals), 1e-300))
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
        new_cost = huber_cost(new_residuals, limit)
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
