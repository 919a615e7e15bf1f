"""Regression with the Huber loss, beside scipy and closed forms; and the wild bootstrap."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from glasshouse.scaling import regression


def exponential(x):
    def model(coefficients):
        scale, rate = (column[:, None] for column in coefficients.T)
        values = scale * np.exp(-rate * x)
        return values, np.stack([np.exp(-rate * x) + 0 * scale, -x * values], -1)

    return model


@pytest.mark.parametrize("delta", [0.05, np.inf])
def test_a_fit_equals_that_of_scipy(delta):
    generator = np.random.default_rng(0)
    x = np.linspace(0, 3, 40)
    targets = 2 * np.exp(-0.7 * x) + 0.02 * generator.standard_normal(40)
    targets[5] += 1.0  # an outlier
    ours, cost = regression.fit(exponential(x), targets[None], np.array([[1.0, 1.0]]), delta)
    loss = {"loss": "linear"} if delta == np.inf else {"loss": "huber", "f_scale": delta}

    def residuals(coefficients):
        return coefficients[0] * np.exp(-coefficients[1] * x) - targets

    theirs = least_squares(residuals, [1.0, 1.0], **loss, xtol=1e-12, ftol=1e-12)
    np.testing.assert_allclose(ours[0], theirs.x, rtol=1e-4)
    np.testing.assert_allclose(cost[0], theirs.cost, rtol=1e-6)


def test_problems_do_not_influence_each_other():
    x = np.linspace(0, 3, 20)
    model = exponential(x)
    targets = np.stack([2 * np.exp(-0.5 * x), 3 * np.exp(-1.5 * x), np.zeros(20)])
    together, _ = regression.fit(model, targets, np.ones((3, 2)), np.inf)
    for row in range(2):
        alone, _ = regression.fit(model, targets[[row]], np.ones((1, 2)), np.inf)
        np.testing.assert_allclose(together[row], alone[0], rtol=1e-6)
    np.testing.assert_allclose(together[:2], [[2, 0.5], [3, 1.5]], rtol=1e-6)


def test_the_best_start_wins():
    def model(coefficients):  # two minima: (c^2 - 1)^2 + slope
        values = (coefficients**2 - 1) + 0.1 * (coefficients - 1)
        return values, (2 * coefficients + 0.1)[..., None]

    best, costs = regression.best_of_starts(model, np.zeros(1), np.array([[-3.0], [3.0]]), np.inf)
    assert len(costs) == 2
    assert abs(model(best[None])[0]).max() < 1e-6


def test_a_coefficient_without_influence_stays():
    def model(coefficients):
        values = coefficients[:, :1] * np.ones(5)
        return values, np.stack([np.ones_like(values), np.zeros_like(values)], -1)

    found, _ = regression.fit(model, np.full((1, 5), 4.0), np.array([[1.0, 7.0]]), np.inf)
    np.testing.assert_allclose(found, [[4.0, 7.0]], rtol=1e-6)


def test_the_deviation_ignores_outliers():
    residuals = np.random.default_rng(0).standard_normal(1000)
    residuals[:20] = 100
    assert regression.robust_deviation(residuals, 5) == pytest.approx(1, abs=0.1)


def test_weights_have_mean_0_and_variance_1():
    assert abs(regression.WEIGHTS.mean()) < 1e-12
    assert abs((regression.WEIGHTS**2).mean() - 1) < 1e-12


def test_measurements_of_a_run_move_together():
    residuals, runs = np.array([1.0, 2.0, 1.0]), np.array([0, 0, 1])
    drawn = regression.resamples(np.zeros(3), residuals, np.zeros(3), runs, 200, 0)
    np.testing.assert_allclose(drawn[:, 1], 2 * drawn[:, 0])
    assert not np.allclose(drawn[:, 2], drawn[:, 0])


def test_the_spread_of_a_mean_is_its_standard_error():
    generator = np.random.default_rng(0)
    values = generator.standard_normal(50)
    derivatives = np.ones((50, 1))
    leverage = regression.leverages(derivatives)
    np.testing.assert_allclose(leverage, 1 / 50)
    drawn = regression.resamples(np.full(50, values.mean()), values - values.mean(), leverage, np.arange(50), 4000, 1)
    assert np.isclose(drawn.mean(1).std(), values.std(ddof=1) / np.sqrt(50), rtol=0.06)
