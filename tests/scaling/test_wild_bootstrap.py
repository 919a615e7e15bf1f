"""The wild bootstrap: weights of mean 0 and variance 1, shared within a run."""

import numpy as np

from glasshouse.scaling import wild_bootstrap


def test_weights_have_mean_0_and_variance_1():
    assert abs(wild_bootstrap.WEIGHTS.mean()) < 1e-12
    assert abs((wild_bootstrap.WEIGHTS**2).mean() - 1) < 1e-12


def test_measurements_of_a_run_move_together():
    residuals, runs = np.array([1.0, 2.0, 1.0]), np.array([0, 0, 1])
    drawn = wild_bootstrap.resamples(np.zeros(3), residuals, np.zeros(3), runs, 200, 0)
    np.testing.assert_allclose(drawn[:, 1], 2 * drawn[:, 0])
    assert not np.allclose(drawn[:, 2], drawn[:, 0])


def test_the_spread_of_a_mean_is_its_standard_error():
    generator = np.random.default_rng(0)
    values = generator.standard_normal(50)
    derivatives = np.ones((50, 1))
    leverage = wild_bootstrap.leverages(derivatives)
    np.testing.assert_allclose(leverage, 1 / 50)
    drawn = wild_bootstrap.resamples(np.full(50, values.mean()), values - values.mean(), leverage, np.arange(50), 4000, 1)
    assert np.isclose(drawn.mean(1).std(), values.std(ddof=1) / np.sqrt(50), rtol=0.06)
