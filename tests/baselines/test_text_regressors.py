"""Baselines of regression: the mean has R² of 0 on its own texts, and words that add up are learned."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.baselines import field_baselines, text_regressors
from glasshouse.baselines.field_baselines import Examples
from glasshouse.metrics.metric import Metric

RMSE = Metric("rmse", "RMSE", "{:.4g}", "lower")
NUMBERS = st.floats(-1e3, 1e3)


def test_values_that_depend_on_words_are_learned_by_ridge_regression() -> None:
    generator = Random(0)
    worth = {"good": 2.0, "fine": 1.0, "poor": -1.0, "bad": -2.0}
    texts = [" ".join(generator.choices(list(worth), k=3)) for _ in range(200)]
    values = [repr(sum(worth[word] for word in set(text.split()))) for text in texts]
    splits = [Examples(texts[begin::2], values[begin::2], np.arange(100), 100) for begin in (0, 1)]
    mean, ridge = (
        field_baselines.train(method, splits[0], splits[1], splits[1], text_regressors.score_values, (RMSE,))
        for method in text_regressors.METHODS
    )
    assert mean.metrics["r2"] <= 0
    assert ridge.metrics["r2"] > 0.9
    assert ridge.values["mae"].mean() == pytest.approx(ridge.metrics["mae"])


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_rmse_is_at_least_the_mean_absolute_error(pairs: list[tuple[float, float]]) -> None:
    truth, predictions = ([repr(value) for value in side] for side in zip(*pairs, strict=True))
    metrics, values = text_regressors.score_values(truth, predictions)
    assert metrics["rmse"] >= metrics["mae"] * (1 - 1e-12) - 1e-100
    assert metrics["r2"] <= 1
    assert len(values["mae"]) == len(pairs)


def test_the_mean_of_the_true_numbers_has_an_r2_of_zero() -> None:
    metrics, _ = text_regressors.score_values(["1", "2", "6"], ["3.0"] * 3)
    assert metrics == pytest.approx({"rmse": (14 / 3) ** 0.5, "mae": 2.0, "r2": 0.0, "spearman": 0.0})
