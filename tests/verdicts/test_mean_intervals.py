"""Means with intervals: known values, too few units, and coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest

from glasshouse.verdicts.mean_intervals import (
    LEAST_UNITS,
    NO_MEAN,
    binomial_interval,
    from_questions,
    largest_unseen_share,
    mean,
    mean_of_pairs,
    share,
    sign_flip_p,
)


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


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_that_of_clopper_and_pearson(counts):
    hits, trials = counts
    known = binomtest(hits, trials).proportion_ci(0.95, "exact")
    assert binomial_interval(hits / trials, trials) == pytest.approx((known.low, known.high), abs=1e-9)


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(st.lists(st.integers(0, n), min_size=1, max_size=8), st.just(n))))
def test_an_interval_holds_its_share_and_is_never_empty(counts):
    hits, trials = counts
    found = from_questions([count / trials for count in hits], trials)
    assert 0 <= found.low <= found.share + 1e-12
    assert found.share - 1e-12 <= found.high <= 1
    assert found.low < found.high
    assert len(hits) <= found.effective <= len(hits) * trials


def test_repeats_of_one_question_are_not_new_questions():
    """Questions that a model always answers right or always wrong: twenty repeats say no more than one."""
    once, often = (from_questions([1.0, 0.0, 1.0, 1.0, 0.0], trials) for trials in (1, 20))
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
    right = from_questions([1.0] * 3, 20)
    assert (right.low, right.high) == pytest.approx((0.025 ** (1 / 3), 1.0))
    alone = from_questions([0.5], 4)
    assert (alone.low, alone.high) == pytest.approx(binomial_interval(0.5, 4))


@pytest.mark.parametrize(("spread", "questions"), [(0.3, 8), (0.8, 12), (4.0, 6)])
def test_intervals_cover(spread, questions):
    """Questions differ in difficulty; the interval covers the mean of all of them nearly always."""
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        difficulty = generator.beta(spread, spread, questions)
        found = from_questions((generator.random((5, questions)) < difficulty).mean(axis=0), 5)
        covered += found.low <= 0.5 <= found.high
    assert covered >= 282


def test_few_pairs_cannot_be_certain():
    assert sign_flip_p([1.0] * 3) == pytest.approx(0.25)
    assert sign_flip_p([1.0] * 6) == pytest.approx(2 / 64)
    assert sign_flip_p([0.0, 0.0]) == 1.0
    assert sign_flip_p([1.0, -1.0, 0.0]) == 1.0
    assert sign_flip_p([1.0] * 40) == 0.0
    assert largest_unseen_share(59) < 0.05 < largest_unseen_share(58)
