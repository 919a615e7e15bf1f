"""The envelope of training curves: at each compute the size with the lowest loss, and a power law through these sizes.

N parameters, C compute. The first approach of Hoffmann et al. (2022). It needs no extra runs, but a curve is read before its
learning rate has decayed, which favours no budget equally: the exponent is biased unless every budget has its own schedule.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glasshouse.scaling.measurements import FewSizes, MeasuredLosses
from glasshouse.specs.errors import DataError

Array = NDArray[np.float64]
# Points of the grid of log C, and how many of them must have their best size inside the range of sizes.
GRID = 200
LEAST_POINTS = 10
LEAST_SIZES = 3


@dataclass(frozen=True)
class EnvelopeFit:
    """N = exp(intercept) C^exponent. log_flops, log_parameters: the points of the envelope. resampled: (R, 2).

    freedom: the degrees of freedom of a line through the sizes of the runs.
    """

    log_flops: Array
    log_parameters: Array
    losses: Array
    intercept: float
    exponent: float
    resampled: Array
    freedom: int

    def best_parameters(self, budget: float) -> tuple[float, Array]:
        """The best N for a budget, and that of each resample."""
        log_budget = np.log(budget)
        return (
            float(np.exp(self.intercept + self.exponent * log_budget)),
            np.exp(self.resampled[:, 0] + self.resampled[:, 1] * log_budget),
        )


def fit(measurements: MeasuredLosses, resample_count: int, seed: int = 0) -> EnvelopeFit:
    """Fit the envelope of training curves, and those of resampled runs."""
    if measurements.sizes < LEAST_SIZES:
        raise FewSizes(
            f"the curves have {measurements.sizes} sizes, and the envelope needs at least {LEAST_SIZES}; train more sizes"
        )
    runs = np.unique(measurements.runs)
    log_sizes = np.array([np.log(measurements.parameters[measurements.runs == run][0]) for run in runs])
    grid = np.linspace(np.log(measurements.flops.min()), np.log(measurements.flops.max()), GRID)
    curves = np.full((len(runs), GRID), np.inf)
    for row, run in enumerate(runs):
        own = np.flatnonzero(measurements.runs == run)
        own = own[np.argsort(measurements.flops[own])]
        known = np.log(measurements.flops[own])
        inside = (grid >= known[0]) & (grid <= known[-1])
        curves[row, inside] = np.interp(grid[inside], known, np.log(measurements.losses[own]))
    points = _envelope(grid, curves, log_sizes)
    if len(points[0]) < LEAST_POINTS:
        raise DataError("at nearly every budget the best size is the smallest or the largest one; train sizes beyond these")
    slope, intercept = np.polyfit(points[0], points[1], 1)
    generator = np.random.default_rng(seed)
    resampled = []
    for _ in range(resample_count):
        chosen = generator.integers(0, len(runs), len(runs))
        x, y, _ = _envelope(grid, curves[chosen], log_sizes[chosen])
        if len(x) >= LEAST_POINTS:
            resampled.append(np.polyfit(x, y, 1)[::-1])
    rows = np.array(resampled) if resampled else np.full((1, 2), np.nan)
    return EnvelopeFit(*points, float(intercept), float(slope), rows, len(runs) - 2)


def _envelope(grid: Array, curves: Array, log_sizes: Array) -> tuple[Array, Array, Array]:
    """log C, log N and the loss where the best size is neither the smallest nor the largest of those that reach this C."""
    best = np.argmin(curves, 0)
    reached = np.isfinite(curves)
    sizes = np.where(reached, log_sizes[:, None], np.nan)
    known = reached.sum(0) >= LEAST_SIZES
    lowest, highest = np.full(len(grid), np.nan), np.full(len(grid), np.nan)
    lowest[known], highest[known] = np.nanmin(sizes[:, known], 0), np.nanmax(sizes[:, known], 0)
    chosen = log_sizes[best]
    inside = known & (chosen > lowest) & (chosen < highest)
    return grid[inside], chosen[inside], np.exp(curves[best, np.arange(len(grid))][inside])
