"""Power laws of the best size over compute: the first two approaches of Hoffmann et al. (Training Compute-Optimal Large
Language Models, 2022).

IsoFLOP curves: at each compute budget a parabola of the loss in log N, and a power law through the minima. Minima that are
known better count more.

The envelope of training curves: at each compute the size with the lowest loss, and a power law through these sizes. Its
exponent is biased unless every budget has its own schedule.

N parameters, D tokens, C compute. Axes: R resamples, B budgets. The first of 1 + R values is that of the fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.scaling import regression
from glasshouse.scaling.measurements import FewSizes, MeasuredLosses
from glasshouse.scaling.regression import Array
from glasshouse.specs.errors import DataError

# A parabola has three coefficients, and the noise needs at least one degree of freedom more.
LEAST_SIZES = 4
LEAST_BUDGETS = 2
# A resample whose minimum lies further than this share of the range beyond the sizes has none.
BEYOND = 0.5
# A budget is used if so many of its resamples have a minimum.
LEAST_SHARE = 0.8
# Points of the envelope's grid of log C, how many of them must have their best size inside the range of sizes, and how many
# sizes must reach a point.
GRID, LEAST_POINTS, LEAST_CURVES = 200, 10, 3


@dataclass(frozen=True)
class PowerLaw:
    """exp(intercept) C^exponent (1 + R). freedom: the degrees of freedom of the noise."""

    intercepts: Array
    exponents: Array
    freedom: int
    fits = True

    def at(self, compute: float) -> Array:
        return np.asarray(np.exp(self.intercepts + self.exponents * np.log(compute)))

    def best(self, budget: float, product_nd: float, different_tokens: float | None) -> tuple[Array, Array, None]:
        sizes = self.at(budget)
        return sizes, product_nd / sizes, None


@dataclass(frozen=True)
class Parabola:
    """The curve of one budget: loss = c0 + c1 x + c2 x^2 with x = log N - `centre`.

    minima: log N at the minimum (1 + R), NaN where there is none near the sizes. lowest_losses: the losses there.
    token_line: log D at x = 0 and its slope.
    """

    budget: float
    centre: float
    coefficients: Array
    log_parameters: Array
    losses: Array
    minima: Array
    lowest_losses: Array
    token_line: tuple[float, float]

    @property
    def log_best(self) -> float:
        return float(self.minima[0])

    @property
    def inside(self) -> bool:
        """Whether the minimum lies between the smallest and the largest size."""
        return bool(self.log_parameters.min() <= self.log_best <= self.log_parameters.max())

    @property
    def log_lowest(self) -> float:
        """log N at the lowest point between the smallest and the largest size; an end if there is no minimum between."""
        ends = [float(self.log_parameters.min()), float(self.log_parameters.max())]
        return min([self.log_best] if self.inside else ends, key=lambda place: float(self.loss(np.array(place))))

    @property
    def share_with_minimum(self) -> float:
        return float(np.mean(np.isfinite(self.minima[1:])))

    @property
    def usable(self) -> bool:
        return self.inside and self.share_with_minimum >= LEAST_SHARE

    def loss(self, log_parameters: Array) -> Array:
        x = log_parameters - self.centre
        return np.asarray(np.polynomial.polynomial.polyval(x, self.coefficients))

    def variance_of_minimum(self, noise: float) -> float:
        """The variance of log N at the minimum, for losses with this variance, relative to the loss."""
        design = np.vander(self.log_parameters - self.centre, 3, increasing=True)
        _, slope, curvature = self.coefficients
        # The derivatives of the minimum, -slope / (2 curvature), by the coefficients.
        gradient = np.array([0.0, -1 / (2 * curvature), slope / (2 * curvature**2)])
        return noise * self.losses.mean() ** 2 * float(gradient @ np.linalg.pinv(design.T @ design) @ gradient)


@dataclass(frozen=True)
class IsoFLOPFit:
    """Parabolas, and the power laws of N and D through the minima of the usable ones."""

    parabolas: Sequence[Parabola]
    sizes: PowerLaw
    tokens: PowerLaw
    fits = True

    @property
    def freedom(self) -> int:
        return self.sizes.freedom

    @property
    def exponents(self) -> Array:
        return self.sizes.exponents

    @property
    def usable(self) -> list[Parabola]:
        return [parabola for parabola in self.parabolas if parabola.usable]

    def best(self, budget: float, product_nd: float, different_tokens: float | None) -> tuple[Array, Array, None]:
        return self.sizes.at(budget), self.tokens.at(budget), None


def fit(measured: MeasuredLosses, resample_count: int, seed: int = 0) -> IsoFLOPFit:
    """Fit the curves of all budgets, and the power laws through their minima.

    A budget with too few sizes is left out, if there are enough others.
    """
    if not len(measured.budgets):
        raise DataError("no three runs have the same compute, so there are no IsoFLOP curves; measure sizes at each budget")
    few = few_sizes(measured)
    kept = [float(budget) for budget in np.unique(measured.budgets) if budget not in few]
    if few and len(kept) < LEAST_BUDGETS:
        raise FewSizes(f"the budget of {few[0]:.3g} FLOPs has fewer than {LEAST_SIZES} sizes; measure more, or leave it out")
    # Runs that are in several budgets keep their weight: the seed is the same, and so are the numbers of the runs.
    parabolas = [fit_parabola(measured, budget, resample_count, seed) for budget in kept]
    usable = [parabola for parabola in parabolas if parabola.usable]
    if len(usable) < LEAST_BUDGETS:
        raise DataError(_no_minimum_message(parabolas))
    freedom = sum(len(parabola.losses) - 3 for parabola in usable)
    # The noise has the same variance, relative to the loss, at every budget. The few measurements of one tell little of it.
    relative = np.concatenate([each.losses / each.loss(each.log_parameters) - 1 for each in usable])
    noise = float(np.sum(relative**2)) / max(freedom, 1)
    weights = 1 / np.maximum([each.variance_of_minimum(noise) for each in usable], 1e-12)
    # A resample without a minimum has that of the fit.
    minima_RB = np.stack([np.where(np.isfinite(each.minima), each.minima, each.log_best) for each in usable], 1)
    levels, slopes = np.array([each.token_line for each in usable]).T
    log_tokens_RB = levels + slopes * (minima_RB - [each.centre for each in usable])
    log_budgets = np.log([parabola.budget for parabola in usable])
    # Intercepts and slopes (1 + R) of regressions on log C, with these weights.
    root = np.sqrt(weights / weights.sum())
    solver = np.linalg.pinv(np.stack([np.ones_like(log_budgets), log_budgets], 1) * root[:, None]) * root
    (size_starts, size_slopes), (token_starts, token_slopes) = (solver @ each.T for each in (minima_RB, log_tokens_RB))
    sizes, tokens = PowerLaw(size_starts, size_slopes, freedom), PowerLaw(token_starts, token_slopes, freedom)
    return IsoFLOPFit(parabolas, sizes, tokens)


def few_sizes(measured: MeasuredLosses) -> list[float]:
    """The budgets with fewer sizes than a parabola needs."""
    budgets, parameters = measured.budgets, measured.parameters
    return [float(each) for each in np.unique(budgets) if len(np.unique(parameters[budgets == each])) < LEAST_SIZES]


def fit_parabola(measured: MeasuredLosses, budget: float, resample_count: int = 0, seed: int = 0) -> Parabola:
    here = measured.budgets == budget
    log_parameters, losses = np.log(measured.parameters[here]), measured.losses[here]
    centre = float(log_parameters.mean())
    x = log_parameters - centre
    design = np.vander(x, 3, increasing=True)
    solver = np.linalg.pinv(design)
    coefficients = solver @ losses
    fitted = design @ coefficients
    leverage, runs = regression.leverages(design), measured.runs[here]
    drawn = regression.resamples(fitted, losses - fitted, leverage, runs, resample_count, seed, regression.HC2)
    level, slope, curvature = np.vstack([coefficients, drawn @ solver.T]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        minima = -slope / (2 * curvature)
    room = BEYOND * (x.max() - x.min())
    minima[~((curvature > 0) & (minima >= x.min() - room) & (minima <= x.max() + room))] = np.nan
    lowest = level + slope * minima + curvature * minima**2
    token_slope, token_level = np.polyfit(x, np.log(measured.tokens[here]), 1)
    token_line = float(token_level), float(token_slope)
    return Parabola(budget, centre, coefficients, log_parameters, losses, minima + centre, lowest, token_line)


def _no_minimum_message(parabolas: Sequence[Parabola]) -> str:
    sides = []
    for parabola in parabolas:
        if not parabola.usable:
            smallest, *_, largest = parabola.loss(np.sort(parabola.log_parameters))
            remedy = "more seeds or more" if parabola.inside else "smaller" if largest > smallest else "larger"
            sides.append(f"{parabola.budget:.3g} FLOPs ({remedy} sizes are needed)")
    return (
        f"{len(parabolas) - len(sides)} of {len(parabolas)} budgets show a minimum of the loss between their sizes, and a "
        f"power law needs {LEAST_BUDGETS}; without one: {', '.join(sides)}"
    )


def fit_envelope(measurements: MeasuredLosses, resample_count: int, seed: int = 0) -> PowerLaw:
    """Fit the envelope of training curves, and those of resampled runs."""
    if measurements.sizes < LEAST_CURVES:
        raise FewSizes(f"the curves have {measurements.sizes} sizes, and the envelope needs {LEAST_CURVES}; train more")
    runs = np.unique(measurements.runs)
    grid = np.linspace(np.log(measurements.flops.min()), np.log(measurements.flops.max()), GRID)
    log_sizes, curves = np.zeros(len(runs)), np.zeros((len(runs), GRID))
    for row, run in enumerate(runs):
        own = np.flatnonzero(measurements.runs == run)
        own = own[np.argsort(measurements.flops[own])]
        log_sizes[row] = np.log(measurements.parameters[own[0]])
        log_flops, log_losses = np.log(measurements.flops[own]), np.log(measurements.losses[own])
        curves[row] = np.interp(grid, log_flops, log_losses, left=np.inf, right=np.inf)
    lines = []
    generator = np.random.default_rng(seed)
    for resample in range(1 + resample_count):
        chosen = generator.integers(0, len(runs), len(runs)) if resample else np.arange(len(runs))
        log_flops, best = _envelope(grid, curves[chosen], log_sizes[chosen])
        if len(best) >= LEAST_POINTS:
            lines.append(np.polyfit(log_flops, best, 1))
        elif not resample:
            raise DataError("at nearly every budget the best size is the smallest or the largest; train sizes beyond")
    exponents, intercepts = np.array(lines).T
    return PowerLaw(intercepts, exponents, len(runs) - 2)


def _envelope(grid: Array, curves: Array, log_sizes: Array) -> tuple[Array, Array]:
    """log C and log N where the best size is neither the smallest nor the largest of those that reach this C."""
    reached = np.isfinite(curves)
    lowest = np.where(reached, log_sizes[:, None], np.inf).min(0)
    highest = np.where(reached, log_sizes[:, None], -np.inf).max(0)
    chosen = log_sizes[np.argmin(curves, 0)]
    inside = (reached.sum(0) >= LEAST_CURVES) & (chosen > lowest) & (chosen < highest)
    return grid[inside], chosen[inside]
