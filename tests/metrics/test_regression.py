"""Regression metrics are those of scikit-learn and SciPy, and constant numbers have a value too."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from glasshouse.metrics.metric import Metrics
from glasshouse.metrics.regression import MAE, R2, RMSE, SPEARMAN, PredictedNumbers, r_squared, spearman


def test_the_metrics_are_those_of_other_libraries():
    random = np.random.default_rng(0)
    truth = random.integers(0, 6, 80).astype(float)
    predictions = (truth + random.normal(0, 2, 80)).round(0)
    found = Metrics([RMSE, MAE, R2, SPEARMAN]).measure(PredictedNumbers(truth, predictions))
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(truth, predictions))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(truth, predictions))
    assert found["r2"] == pytest.approx(metrics.r2_score(truth, predictions))
    assert found["spearman"] == pytest.approx(stats.spearmanr(truth, predictions).statistic)


def test_constant_numbers_have_no_correlation_and_no_explained_variance():
    constant, other = np.full(4, 2.0), np.array([1.0, 2.0, 3.0, 4.0])
    assert spearman(constant, other) == spearman(other, constant) == 0
    assert r_squared(constant, other) == 0
    assert r_squared(constant, constant) == 1
