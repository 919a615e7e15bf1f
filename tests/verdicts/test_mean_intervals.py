"""Means with intervals: known values, too few units, and coverage."""

import math

import numpy as np
import pytest
from scipy import stats

from glasshouse.verdicts.mean_intervals import LEAST_UNITS, NO_MEAN, mean, mean_of_pairs, share


def test_a_share_has_the_wilson_interval() -> None:
    expected = stats.binomtest(7, 10).proportion_ci(method="wilson")
    found = share([1] * 7 + [0] * 3)
    assert (found.value, found.low, found.high) == pytest.approx((0.7, expected.low, expected.high))
    all_alike = share([1] * 12)
    assert all_alike.low < all_alike.value == all_alike.high == 1


def test_few_units_have_no_interval_and_none_have_no_mean() -> None:
    for found in (share([1.0] * (LEAST_UNITS - 1)), mean([1.0] * (LEAST_UNITS - 1)), mean_of_pairs([("a", "b")], [1.0])):
        assert found.value == 1
        assert math.isnan(found.low)
        assert math.isnan(found.high)
    assert share([]) is mean([]) is mean_of_pairs([], []) is NO_MEAN


def test_the_interval_of_a_mean_is_close_to_the_normal_one() -> None:
    values = np.random.default_rng(0).normal(3, 2, 200)
    found = mean(values.tolist())
    half = 1.96 * values.std() / math.sqrt(200)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.06)


def test_pairs_that_share_a_unit_widen_the_interval() -> None:
    """The value of a pair is the sum of its units' values, so the error is that of twice the mean of the units."""
    units = np.random.default_rng(1).normal(0, 1, 30)
    pairs = [(i, j) for i in range(30) for j in range(i)]
    found = mean_of_pairs(pairs, [units[i] + units[j] for i, j in pairs])
    half = 1.96 * 2 * units.std() / math.sqrt(30)
    assert found.value == pytest.approx(2 * units.mean())
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.15)
    as_if_independent = 1.96 * math.sqrt(2) * units.std() / math.sqrt(len(pairs))
    assert found.high - found.low > 4 * as_if_independent


def test_a_unit_is_not_paired_with_itself_by_the_bootstrap() -> None:
    """Pairs of different units have the value 0, whatever is drawn."""
    pairs = [(i, j) for i in range(8) for j in range(i)]
    assert mean_of_pairs(pairs, [0.0] * len(pairs)).high == 0
