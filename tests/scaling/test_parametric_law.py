"""The parametric law: exact data give the exact law, intervals cover it, repeated tokens are worth less."""

import numpy as np
import pytest

from glasshouse.scaling import parametric_law, regression
from glasshouse.scaling.measurements import MeasuredLosses
from glasshouse.scaling.parametric_law import ParametricLaw
from glasshouse.specs.errors import DataError, GlasshouseError

from .known_law import LAW, draw

EXPONENTS = ("parameter_exponent", "token_exponent", "size_exponent")


def fit(table, resamples=50, different_tokens=None):
    return parametric_law.fit(table, resamples, 0, different_tokens)


def test_exact_data_give_the_exact_law():
    found = fit(draw(0, noise=0.0, seeds=1))
    for field in ("floor", "parameter_scale", "token_scale", "parameter_exponent", "token_exponent"):
        assert getattr(found.law, field) == pytest.approx(getattr(LAW, field), rel=1e-3)
    assert np.abs(found.residuals).max() < 1e-6


def test_an_outlier_changes_little():
    table = draw(0, noise=0.001)
    table.losses[7] *= 1.3
    assert fit(table).law.size_exponent == pytest.approx(LAW.size_exponent, abs=0.02)


@pytest.mark.parametrize(
    ("noise", "seeds", "simulations"), [(0.01, 1, 15), pytest.param(0.003, 3, 100, marks=pytest.mark.slow)]
)
def test_intervals_cover_the_true_exponents(noise, seeds, simulations):
    """Fewer than 80 % of intervals at 95 % would cover with probability below 0.1 %."""
    covered = dict.fromkeys(EXPONENTS, 0)
    for seed in range(simulations):
        found = fit(draw(seed, noise, seeds), resamples=200)
        for field in EXPONENTS:
            low, high = regression.interval(getattr(found.laws, field)[1:], found.freedom)
            covered[field] += low <= getattr(LAW, field) <= high
    assert min(covered.values()) >= 0.8 * simulations, covered


def test_the_best_size_has_the_lowest_loss():
    product = 1e17
    best = LAW.best_parameters(product)
    sizes = best * np.exp(np.linspace(-1, 1, 201))
    assert np.argmin(LAW.loss(sizes, product / sizes)) == 100
    # Without repetition the search finds the same.
    law = ParametricLaw(1.69, 406.4, 410.7, 0.34, 0.28, 10.0)
    assert law.best_parameters(product, 1e30) == pytest.approx(best, rel=0.05)
    assert law.best_parameters(product, 1e5) > best


def test_repeated_tokens_are_worth_less_and_the_law_finds_how_much():
    law = ParametricLaw(1.5, 40.0, 300.0, 0.3, 0.35, 8.0)
    assert law.effective_tokens(5e5, 1e6) == 5e5
    assert law.effective_tokens(1e9, 1e6) == pytest.approx(9e6, rel=1e-3)
    generator = np.random.default_rng(1)
    parameters, tokens = np.exp(generator.uniform(np.log([[1e4], [3e5]]), np.log([[1e7], [5e7]]), (2, 80)))
    losses = law.loss(parameters, tokens, 1e6) * np.exp(0.003 * generator.standard_normal(80))
    table = MeasuredLosses(parameters, tokens, 6 * parameters * tokens, losses, np.arange(80))
    plain, repeated = fit(table, 100), fit(table, 100, 1e6)
    assert repeated.information < plain.information - 10
    low, high = regression.interval(repeated.laws.repetitions[1:], repeated.freedom)
    assert low < 8.0 < high


def test_derivatives_are_those_of_the_predictions():
    table = draw(0)
    for different in (None, float(np.median(table.tokens)) / 5):
        model = parametric_law._Model(table, different)
        start = model.starts(table.losses)[[7]]
        predictions, derivatives = model(start)
        for column in range(model.coefficients):
            moved = start.copy()
            moved[0, column] += 1e-6
            np.testing.assert_allclose((model(moved)[0] - predictions) / 1e-6, derivatives[..., column], atol=1e-5)


def test_one_budget_cannot_tell_parameters_from_tokens():
    with pytest.raises(DataError) as caught:
        fit(draw(0, budgets=(1e15,)))
    assert isinstance(caught.value, GlasshouseError)


@pytest.mark.parametrize(("count", "sizes", "code"), [(20, 2, DataError), (6, 6, DataError)])
def test_too_few_measurements_are_refused(count, sizes, code):
    parameters = np.resize(np.geomspace(1e6, 1e8, sizes), count)
    tokens = np.geomspace(1e8, 1e9, count)
    with pytest.raises(DataError) as caught:
        fit(MeasuredLosses(parameters, tokens, 6 * parameters * tokens, LAW.loss(parameters, tokens), np.arange(count)))
    assert isinstance(caught.value, code)
