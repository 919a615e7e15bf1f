"""The losses of a study's largest budget: predicted from the smaller ones before it runs, and what came out.

N parameters, D tokens, C compute in FLOPs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from glasshouse.records import atomic_files, kept_json
from glasshouse.scaling import compute_optimal, scale_study
from glasshouse.scaling.regression import LawEstimate, estimate
from glasshouse.scaling.scale_study import ScaleStudy
from glasshouse.scaling.scaling_fit import ISOFLOP, ScalingFit, fit_laws
from glasshouse.specs.errors import DataError, RunError

FILE = "forecast.json"


@dataclass(frozen=True)
class SizeForecast:
    name: str
    parameters: float
    tokens: float
    loss: LawEstimate


@dataclass(frozen=True)
class BudgetForecast:
    """What the smaller budgets say about the largest.

    law: the parametric law that the data prefer; it predicts the losses. best: the best N by the IsoFLOP law. missed: the
    root mean square of the relative errors of the same forecast one budget earlier. refused: why there is no forecast.
    """

    budget: float
    law: str = ""
    sizes: tuple[SizeForecast, ...] = ()
    best: LawEstimate | None = None
    refused: str = ""
    missed: float = 0.0


@dataclass(frozen=True)
class ForecastOutcome:
    """A forecast and the losses that were measured afterwards: name of a size -> loss of each seed."""

    forecast: BudgetForecast
    losses: Mapping[str, Sequence[float]]

    @property
    def rows(self) -> list[tuple[SizeForecast, float]]:
        measured = [(size, self.losses.get(size.name, ())) for size in self.forecast.sizes]
        return [(size, float(np.mean(losses))) for size, losses in measured if len(losses)]

    @property
    def inside(self) -> int:
        """How many measured losses lie in their intervals."""
        return sum(size.loss.low <= loss <= size.loss.high for size, loss in self.rows)

    @property
    def error(self) -> float:
        """The root mean square of the relative errors of the predicted losses."""
        return float(np.sqrt(np.mean([(size.loss.value / loss - 1) ** 2 for size, loss in self.rows])))


def make(
    fit: ScalingFit, budget: float, sizes: Sequence[tuple[str, float, float]], missed: float = 0.0, seed: int = 0
) -> BudgetForecast:
    """Predict the losses of sizes (name, N, D) at a larger budget.

    An interval has the noise of a run, the uncertainty of the law, and `missed`, the error of an earlier forecast: no law is
    exact, and resamples of its fit do not tell how far from it larger models are.
    """
    best = next((each.parameters for each in fit.predict(budget) if each.law == ISOFLOP), None)
    if (law := fit.best_parametric) is None:
        return BudgetForecast(budget, best=best, refused="the data do not allow the parametric law")
    noise = math.hypot(math.sqrt(float(np.sum(law.residuals**2)) / max(law.freedom, 1)), missed)
    forecasts = []
    for index, (name, parameters, tokens) in enumerate(sizes):
        losses = law.laws.loss(parameters, tokens, fit.different_tokens)
        losses[1:] *= np.exp(noise * np.random.default_rng(seed + index).standard_normal(len(losses) - 1))
        forecasts.append(SizeForecast(name, parameters, tokens, estimate(losses, law.freedom)))
    return BudgetForecast(budget, law.name, tuple(forecasts), best, missed=missed)


def write(study: ScaleStudy) -> None:
    """Predict the losses of the largest budget. The same forecast one budget earlier tells how far such forecasts miss."""
    missed = 0.0
    for budget in study.budgets[-2:]:
        at_budget = [size for size in study.sizes if size.budget == budget]
        sizes = [(size.name, float(size.parameters[compute_optimal.WITH_HEAD]), float(size.tokens)) for size in at_budget]
        try:
            measured = scale_study.measured(study, below=budget)
            fit = fit_laws(measured, different_tokens=scale_study.different_tokens(study))
            forecast = make(fit, budget, sizes, missed)
        except (DataError, RunError) as error:
            forecast = BudgetForecast(budget, refused=str(error))
        outcome = ForecastOutcome(forecast, scale_study.losses_at(study, budget))
        missed = outcome.error if outcome.rows else 0.0
    atomic_files.write_json(study.path / FILE, asdict(forecast))


def outcome_of(study: ScaleStudy) -> ForecastOutcome | None:
    """The forecast of the largest budget beside what was measured; None if it has not been made."""
    path = study.path / FILE
    if not path.exists():
        return None
    forecast = kept_json.required(path, BudgetForecast, "restore or delete it")
    return ForecastOutcome(forecast, scale_study.losses_at(study, forecast.budget))
