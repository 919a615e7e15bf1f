"""Power laws of the best size over compute: the first two approaches of Hoffmann et al. (Training Compute-Optimal Large
Language Models, 2022).

IsoFLOP curves: at each compute budget a parabola of the loss in log N, and a power law through the minima. Minima that are
known better count more.

The envelope of training curves: at each compute the size with the lowest loss, and a power law through these sizes. It needs
no extra runs, but a curve is read before its learning rate has decayed, which favours no budget equally: the exponent is
biased unless every budget has its own schedule.

N parameters, D tokens, C compute. Axes: R resamples, M measurements of one budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glasshouse.scaling import regression
from glasshouse.scaling.measurements import FewSizes, MeasuredLosses
from glasshouse.scaling.regression import Array, Values
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
    """exp(intercept) C^exponent. resampled: the intercept and exponent of each resample (R, 2).

    freedom: the degrees of freedom of the noise.
    """

    intercept: float
    exponent: float
    resampled: Array
    freedom: int

    def at(self, compute: float) -> Values:
        log_compute = np.log(compute)
        return (
            float(np.exp(self.intercept + self.exponent * log_compute)),
            np.exp(self.resampled[:, 0] + self.resampled[:, 1] * log_compute),
        )

    @property
    def size_exponent(self) -> Values:
        return self.exponent, self.resampled[:, 1]

    def best(self, budget: float, product_nd: float, different_tokens: float | None) -> tuple[Values, Values, None]:
        """The best N and D for a budget."""
        size, resampled = self.at(budget)
        return (size, resampled), (product_nd / size, product_nd / resampled), None


@dataclass(frozen=True)
class Parabola:
    """The curve of one budget: loss = c0 + c1 x + c2 x^2 with x = log N - `centre`.

    minima: log N at the minimum for each resample (R), NaN where there is none. token_line: log D at x = 0 and its slope.
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
        """log N at the minimum; NaN if the curve has none near its sizes."""
        return float(_vertices(self.coefficients[None], self.log_parameters - self.centre)[0] + self.centre)

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
        return float(np.mean(np.isfinite(self.minima)))

    @property
    def usable(self) -> bool:
        return self.inside and self.share_with_minimum >= LEAST_SHARE

    def loss(self, log_parameters: Array) -> Array:
        x = log_parameters - self.centre
        return np.asarray(np.polynomial.polynomial.polyval(x, self.coefficients))


@dataclass(frozen=True)
class IsoFLOPFit:
    """Parabolas, and the power laws of N and D through the minima of the usable ones."""

    parabolas: Sequence[Parabola]
    sizes: PowerLaw
    tokens: PowerLaw

    @property
    def freedom(self) -> int:
        return self.sizes.freedom

    @property
    def size_exponent(self) -> Values:
        return self.sizes.size_exponent

    def best(self, budget: float, product_nd: float, different_tokens: float | None) -> tuple[Values, Values, None]:
        """The best N and D for a budget."""
        return self.sizes.at(budget), self.tokens.at(budget), None


def fit(
    parameters: Array,
    tokens: Array,
    losses: Array,
    budgets: Array,
    runs: NDArray[np.int64],
    resample_count: int,
    seed: int = 0,
) -> IsoFLOPFit:
    """Fit the curves of all budgets (one for each measurement), and the power law through their minima.

    A budget with too few sizes is left out, if there are enough others.
    """
    few = few_sizes(parameters, budgets)
    kept = [float(budget) for budget in np.unique(budgets) if budget not in few]
    if few and len(kept) < LEAST_BUDGETS:
        raise FewSizes(
            f"the budget of {few[0]:.3g} FLOPs has {len(np.unique(parameters[budgets == few[0]]))} sizes, and a parabola "
            f"needs at least {LEAST_SIZES}; measure more sizes at this budget, or leave it out with --budgets"
        )
    parabolas = []
    for budget in kept:
        here = budgets == budget
        # Runs that are in several budgets keep their weight: the seed is the same, and so are the numbers of the runs.
        parabolas.append(
            fit_parabola(budget, parameters[here], tokens[here], losses[here], runs[here], resample_count, seed)
        )
    usable = [parabola for parabola in parabolas if parabola.usable]
    if len(usable) < LEAST_BUDGETS:
        raise DataError(_no_minimum_message(parabolas))
    log_budgets = np.log([parabola.budget for parabola in usable])
    minima = np.stack([np.where(np.isfinite(each.minima), each.minima, each.log_best) for each in usable], 1)
    weights = 1 / np.maximum(_minimum_variances(usable), 1e-12)
    best = np.array([[parabola.log_best for parabola in usable]])
    token_lines = np.array([parabola.token_line for parabola in usable])
    centres = np.array([parabola.centre for parabola in usable])
    freedom = sum(len(parabola.losses) - 3 for parabola in usable)

    def tokens_at(log_parameters: Array) -> Array:
        return np.asarray(token_lines[:, 0] + token_lines[:, 1] * (log_parameters - centres))

    def law(measured: Array, resampled: Array) -> PowerLaw:
        intercept, exponent = _weighted_lines(log_budgets, measured, weights)[0]
        return PowerLaw(float(intercept), float(exponent), _weighted_lines(log_budgets, resampled, weights), freedom)

    return IsoFLOPFit(parabolas, law(best, minima), law(tokens_at(best), tokens_at(minima)))


def few_sizes(parameters: Array, budgets: Array) -> list[float]:
    """The budgets with fewer sizes than a parabola needs."""
    found = [budget for budget in np.unique(budgets) if len(np.unique(parameters[budgets == budget])) < LEAST_SIZES]
    return [float(budget) for budget in found]


def fit_parabola(
    budget: float,
    parameters: Array,
    tokens: Array,
    losses: Array,
    runs: NDArray[np.int64],
    resample_count: int = 0,
    seed: int = 0,
) -> Parabola:
    """Fit the curve of one budget."""
    log_parameters = np.log(parameters)
    centre = float(log_parameters.mean())
    x = log_parameters - centre
    design = np.vander(x, 3, increasing=True)
    solver = np.linalg.pinv(design)
    coefficients = solver @ losses
    fitted = design @ coefficients
    leverage = regression.leverages(design)
    drawn = regression.resamples(fitted, losses - fitted, leverage, runs, resample_count, seed, regression.HC2)
    resampled = drawn @ solver.T
    vertices = _vertices(resampled, x)
    lowest = resampled[:, 0] + resampled[:, 1] * vertices + resampled[:, 2] * vertices**2
    slope, level = np.polyfit(x, np.log(tokens), 1)
    return Parabola(
        budget, centre, coefficients, log_parameters, losses, vertices + centre, lowest, (float(level), float(slope))
    )


def _vertices(coefficients: Array, x: Array) -> Array:
    """x at the minimum of each parabola; NaN if it has a maximum instead, or a minimum far beyond the sizes."""
    _, slope, curvature = coefficients.T
    with np.errstate(divide="ignore", invalid="ignore"):
        vertices = -slope / (2 * curvature)
    room = BEYOND * (x.max() - x.min())
    found = (curvature > 0) & (vertices >= x.min() - room) & (vertices <= x.max() + room)
    return np.asarray(np.where(found, vertices, np.nan))


def _minimum_variances(parabolas: Sequence[Parabola]) -> Array:
    """The variance of each minimum, for noise that has the same variance, relative to the loss, at every budget.

    Pooled, because the few measurements of one budget tell little about their noise.
    """
    squares = sum(float(np.sum((each.losses / each.loss(each.log_parameters) - 1) ** 2)) for each in parabolas)
    noise = squares / max(sum(len(each.losses) - 3 for each in parabolas), 1)
    found = []
    for each in parabolas:
        design = np.vander(each.log_parameters - each.centre, 3, increasing=True)
        _, slope, curvature = each.coefficients
        # The derivatives of the minimum, -slope / (2 curvature), by the coefficients.
        gradient = np.array([0.0, -1 / (2 * curvature), slope / (2 * curvature**2)])
        found.append(noise * each.losses.mean() ** 2 * float(gradient @ np.linalg.pinv(design.T @ design) @ gradient))
    return np.array(found)


def _weighted_lines(x: Array, values: Array, weights: Array) -> Array:
    """Intercepts and slopes (R, 2) of weighted regressions of rows of values (R, budgets) on x."""
    design = np.stack([np.ones_like(x), x], 1)
    root = np.sqrt(weights / weights.sum())
    solver = np.linalg.pinv(design * root[:, None]) * root
    return np.asarray(values @ solver.T)


def _no_minimum_message(parabolas: Sequence[Parabola]) -> str:
    sides = []
    for parabola in parabolas:
        if parabola.usable:
            continue
        rising = parabola.loss(parabola.log_parameters.max()) > parabola.loss(parabola.log_parameters.min())
        remedy = "more seeds or more" if parabola.inside else "smaller" if rising else "larger"
        sides.append(f"{parabola.budget:.3g} FLOPs ({remedy} sizes are needed)")
    return (
        f"{len(parabolas) - len(sides)} of {len(parabolas)} budgets show a minimum of the loss between their sizes, and a "
        f"power law needs {LEAST_BUDGETS}; without one: {', '.join(sides)}"
    )


def fit_envelope(measurements: MeasuredLosses, resample_count: int, seed: int = 0) -> PowerLaw:
    """Fit the envelope of training curves, and those of resampled runs."""
    if measurements.sizes < LEAST_CURVES:
        raise FewSizes(
            f"the curves have {measurements.sizes} sizes, and the envelope needs at least {LEAST_CURVES}; train more sizes"
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
    log_flops, best = _envelope(grid, curves, log_sizes)
    if len(best) < LEAST_POINTS:
        raise DataError("at nearly every budget the best size is the smallest or the largest one; train sizes beyond these")
    exponent, intercept = np.polyfit(log_flops, best, 1)
    generator = np.random.default_rng(seed)
    resampled = []
    for _ in range(resample_count):
        chosen = generator.integers(0, len(runs), len(runs))
        x, y = _envelope(grid, curves[chosen], log_sizes[chosen])
        if len(x) >= LEAST_POINTS:
            resampled.append(np.polyfit(x, y, 1)[::-1])
    rows = np.array(resampled) if resampled else np.full((1, 2), np.nan)
    return PowerLaw(float(intercept), float(exponent), rows, len(runs) - 2)


def _envelope(grid: Array, curves: Array, log_sizes: Array) -> tuple[Array, Array]:
    """log C and log N where the best size is neither the smallest nor the largest of those that reach this C."""
    reached = np.isfinite(curves)
    sizes = np.where(reached, log_sizes[:, None], np.nan)
    known = reached.sum(0) >= LEAST_CURVES
    lowest, highest = np.full(len(grid), np.nan), np.full(len(grid), np.nan)
    lowest[known], highest[known] = np.nanmin(sizes[:, known], 0), np.nanmax(sizes[:, known], 0)
    chosen = log_sizes[np.argmin(curves, 0)]
    inside = known & (chosen > lowest) & (chosen < highest)
    return grid[inside], chosen[inside]
