"""IsoFLOP curves: exact parabolas give their minima, intervals cover the exponent, missing minima are named. Envelopes."""

from dataclasses import replace

import numpy as np
import pytest

from glasshouse.scaling import isoflop_law, regression, scaling_fit
from glasshouse.scaling.measurements import MeasuredLosses
from glasshouse.specs.errors import DataError

from .known_law import LAW, curves, draw


def fit(table, resamples=200, seed=0):
    return isoflop_law.fit(replace(table, budgets=table.flops), resamples, seed)


def test_exact_parabolas_give_the_power_law():
    budgets = np.repeat([1e15, 1e16, 1e17], 5)
    best = 3.0 * budgets**0.4
    parameters = best * np.tile([0.3, 0.6, 1.0, 1.8, 3.0], 3)
    losses = 2 + 0.05 * np.log(parameters / best) ** 2
    found = fit(MeasuredLosses(parameters, budgets / parameters / 6, budgets, losses, np.arange(15)), 50)
    assert found.sizes.exponents[0] == pytest.approx(0.4, abs=1e-6)
    assert found.tokens.exponents[0] == pytest.approx(0.6, abs=1e-6)
    assert found.sizes.at(1e18)[0] == pytest.approx(3 * 1e18**0.4, rel=1e-5)
    assert found.tokens.at(1e18)[0] == pytest.approx(1e18 / 6 / (3 * 1e18**0.4), rel=1e-5)


def test_intervals_cover_the_true_exponent():
    covered = 0
    for seed in range(30):
        found = fit(draw(seed), seed=1000 + seed)
        low, high = regression.interval(found.sizes.exponents[1:], found.freedom)
        covered += low <= LAW.size_exponent <= high
    assert covered >= 24


def test_a_budget_with_its_minimum_beyond_the_sizes_is_left_out():
    table = draw(0, noise=0.001)
    first = table.flops == table.flops.min()
    table.losses[first] = np.log(table.parameters[first])  # rises: no minimum
    found = fit(table)
    assert [parabola.usable for parabola in found.parabolas] == [False, True, True, True, True, True]
    assert found.sizes.exponents[0] == pytest.approx(LAW.size_exponent, abs=0.05)


@pytest.mark.parametrize(("factors", "remedy"), [((2, 3, 5, 8), "smaller"), ((0.1, 0.15, 0.2, 0.3), "larger")])
def test_sizes_on_one_side_of_the_minimum_are_refused(factors, remedy):
    with pytest.raises(DataError) as caught:
        fit(draw(0, noise=0.0005, factors=factors))
    assert isinstance(caught.value, DataError)
    assert remedy in str(caught.value)


def test_two_sizes_are_refused():
    with pytest.raises(DataError) as caught:
        fit(draw(0, factors=(0.5, 2.0)))
    assert isinstance(caught.value, DataError)


@pytest.mark.parametrize(("best", "lowest"), [(3e5, 3e5), (1e3, 1e5), (1e9, 1e6)])
def test_the_lowest_point_lies_between_the_sizes(best, lowest):
    parameters = np.geomspace(1e5, 1e6, 5)
    losses = 2 + 0.05 * np.log(parameters / best) ** 2
    budgets = np.full(5, 1e15)
    table = MeasuredLosses(parameters, budgets / parameters / 6, budgets, losses, np.arange(5), budgets)
    parabola = isoflop_law.fit_parabola(table, 1e15)
    assert np.exp(parabola.log_lowest) == pytest.approx(lowest, rel=1e-5)


def test_a_budget_with_few_sizes_is_left_out_if_others_suffice():
    table = draw(0)
    largest = table.flops.max()
    few = np.unique(table.parameters[table.flops == largest])[:2]
    kept = (table.flops < largest) | np.isin(table.parameters, few)
    runs = np.arange(kept.sum())
    fewer = MeasuredLosses(table.parameters[kept], table.tokens[kept], table.flops[kept], table.losses[kept], runs)
    assert len(fit(fewer, 50).parabolas) == len(np.unique(table.flops)) - 1
    budgets = sorted(set(table.flops.tolist()))
    note = " ".join(scaling_fit.fit_laws(fewer, budgets, resamples=50).notes)
    assert f"at {largest:.3g} FLOPs there are fewer than 4 sizes" in note


def test_the_envelope_gives_the_exponent():
    found = isoflop_law.fit_envelope(curves(0, tuple(np.geomspace(1e6, 1e9, 24)), noise=0.0), 100)
    assert found.exponents[0] == pytest.approx(LAW.size_exponent, abs=0.05)
    assert np.isfinite(found.exponents).all()
    assert found.at(6e17)[0] == pytest.approx(LAW.best_parameters(1e17), rel=0.3)


def test_too_few_sizes_are_refused():
    with pytest.raises(DataError) as caught:
        isoflop_law.fit_envelope(curves(0, (1e6, 1e8)), 10)
    assert isinstance(caught.value, DataError)


def test_an_envelope_of_one_size_is_refused():
    table = curves(0, (1e6, 1e7, 1e8))
    table.losses[:] = np.where(table.parameters == 1e6, 1.0, 2.0)
    with pytest.raises(DataError) as caught:
        isoflop_law.fit_envelope(table, 10)
    assert isinstance(caught.value, DataError)
