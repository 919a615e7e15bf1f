"""IsoFLOP curves: at each compute budget a parabola of the loss in log N, and a power law through the minima.

N parameters, D tokens, C compute. The second approach of Hoffmann et al. (Training Compute-Optimal Large Language Models,
2022). Minima that are known better count more in the power law.

Axes: R resamples, M measurements of one budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glasshouse.scaling import wild_bootstrap
from glasshouse.scaling.measurements import FewSizes
from glasshouse.specs.errors import DataError

Array = NDArray[np.float64]
# A parabola has three coefficients, and the noise needs at least one degree of freedom more.
LEAST_SIZES = 4
LEAST_BUDGETS = 2
# A resample whose minimum lies further than this share of the range beyond the sizes has none.
BEYOND = 0.5
# A budget is used if so many of its resamples have a minimum.
LEAST_SHARE = 0.8


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
    """Parabolas, and the power law N = exp(intercept) C^exponent through the minima of the usable ones.

    resampled: the intercept and exponent of each resample (R, 2).
    """

    parabolas: Sequence[Parabola]
    intercept: float
    exponent: float
    resampled: Array
    token_intercept: float
    token_exponent: float
    resampled_tokens: Array

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the noise around the usable parabolas."""
        return sum(len(parabola.losses) - 3 for parabola in self.parabolas if parabola.usable)

    def best_parameters(self, budget: float) -> tuple[float, Array]:
        """The best N for a budget, and that of each resample."""
        log_budget = np.log(budget)
        return (
            float(np.exp(self.intercept + self.exponent * log_budget)),
            np.exp(self.resampled[:, 0] + self.resampled[:, 1] * log_budget),
        )

    def best_tokens(self, budget: float) -> tuple[float, Array]:
        """The same for the number of tokens."""
        log_budget = np.log(budget)
        return (
            float(np.exp(self.token_intercept + self.token_exponent * log_budget)),
            np.exp(self.resampled_tokens[:, 0] + self.resampled_tokens[:, 1] * log_budget),
        )


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
    parabolas = []
    few = few_sizes(parameters, budgets)
    for budget in np.unique(budgets):
        here = budgets == budget
        if float(budget) in few:
            if len(np.unique(budgets)) - len(few) < LEAST_BUDGETS:
                check_sizes(parameters[here], float(budget))
            continue
        # Runs that are in several budgets keep their weight: the seed is the same, and so are the numbers of the runs.
        parabolas.append(
            fit_parabola(float(budget), parameters[here], tokens[here], losses[here], runs[here], resample_count, seed)
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

    def tokens_at(log_parameters: Array) -> Array:
        return np.asarray(token_lines[:, 0] + token_lines[:, 1] * (log_parameters - centres))

    line, lines = _weighted_lines(log_budgets, best, weights)[0], _weighted_lines(log_budgets, minima, weights)
    token_line = _weighted_lines(log_budgets, tokens_at(best), weights)[0]
    token_rows = _weighted_lines(log_budgets, tokens_at(minima), weights)
    return IsoFLOPFit(
        parabolas, float(line[0]), float(line[1]), lines, float(token_line[0]), float(token_line[1]), token_rows
    )


def few_sizes(parameters: Array, budgets: Array) -> list[float]:
    """The budgets with fewer sizes than a parabola needs."""
    found = [budget for budget in np.unique(budgets) if len(np.unique(parameters[budgets == budget])) < LEAST_SIZES]
    return [float(budget) for budget in found]


def check_sizes(parameters: Array, budget: float) -> None:
    """Refuse a budget with too few sizes."""
    sizes = len(np.unique(parameters))
    if sizes < LEAST_SIZES:
        raise FewSizes(
            f"the budget of {budget:.3g} FLOPs has {sizes} sizes, and a parabola needs at least {LEAST_SIZES}; "
            "measure more sizes "
            "at this budget, or leave it out with --budgets"
        )


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
    leverage = wild_bootstrap.leverages(design)
    drawn = wild_bootstrap.resamples(fitted, losses - fitted, leverage, runs, resample_count, seed, wild_bootstrap.HC2)
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
        remedy = "smaller" if rising else "larger"
        if parabola.inside:
            remedy = "more seeds or more"
        sides.append(f"{parabola.budget:.3g} FLOPs ({remedy} sizes are needed)")
    return (
        f"{len(parabolas) - len(sides)} of {len(parabolas)} budgets show a minimum of the loss between their "
        "sizes, and a power law "
        f"needs {LEAST_BUDGETS}; without one: {', '.join(sides)}"
    )
