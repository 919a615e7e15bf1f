"""The largest budget, predicted from the smaller ones."""

import json
from dataclasses import asdict

import numpy as np

from glasshouse.pages import scaling_report
from glasshouse.records import kept_json
from glasshouse.scaling import budget_forecast
from glasshouse.scaling.budget_forecast import BudgetForecast, ForecastOutcome
from glasshouse.scaling.regression import LawEstimate
from glasshouse.scaling.scaling_fit import fit_laws

from .known_law import LAW, draw


def test_losses_of_a_known_law_are_predicted():
    """Losses that the law draws at a larger budget lie in the intervals, in about 95 % of the cases."""
    inside, total = 0, 0
    for seed in range(8):
        fit = fit_laws(draw(seed), resamples=200)
        budget = 4 * fit.largest_budget
        best = float(LAW.best_parameters(budget / 6))
        sizes = [(f"{factor}", best * factor, budget / 6 / best / factor) for factor in (0.3, 1.0, 3.0)]
        forecast = budget_forecast.make(fit, budget, sizes, seed=seed)
        random = np.random.default_rng(100 + seed)
        noise = 0.003
        drawn = {
            name: [float(LAW.loss(size, tokens)) * float(np.exp(noise * random.standard_normal()))]
            for name, size, tokens in sizes
        }
        outcome = ForecastOutcome(forecast, drawn)
        assert outcome.error < 0.02
        inside, total = inside + outcome.inside, total + len(outcome.rows)
        assert forecast.best is not None
        assert forecast.best.low < best < forecast.best.high
        assert f"{outcome.inside} of 3" in scaling_report.forecast_answer(outcome)
        assert len(scaling_report.forecast_table(fit, outcome).rows) == 3
    assert inside / total > 0.8


def test_an_earlier_miss_widens_the_intervals():
    fit = fit_laws(draw(0), resamples=200)
    forecasts = [budget_forecast.make(fit, 1e17, [("a", 1e8, 2e8)], missed) for missed in (0.0, 0.02)]
    assert [each.missed for each in forecasts] == [0.0, 0.02]
    narrow, wide = (each.sizes[0].loss for each in forecasts)
    assert narrow.value == wide.value
    assert (wide.high - wide.low) / wide.value > 0.06 > (narrow.high - narrow.low) / narrow.value


def test_a_forecast_is_kept_as_json():
    size = budget_forecast.SizeForecast("2x32", 1e4, 1e6, LawEstimate(2.0, 1.9, 2.1))
    forecast = BudgetForecast(1e12, "parametric", (size,), LawEstimate(1e4, 5e3, 2e4))
    assert kept_json.parse(json.dumps(asdict(forecast)), BudgetForecast) == forecast
    refused = BudgetForecast(1e12, refused="too few sizes")
    assert kept_json.parse(json.dumps(asdict(refused)), BudgetForecast) == refused
    assert "too few sizes" in scaling_report.forecast_answer(ForecastOutcome(refused, {}))
    waiting = ForecastOutcome(forecast, {})
    assert "not measured yet" in scaling_report.forecast_answer(waiting)
