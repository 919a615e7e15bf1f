"""Intervals of shares: known values, the right coverage when answers to a question are alike, and honest ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest

from glasshouse.metrics.proportions import (
    binomial_interval,
    from_crossed,
    from_questions,
    largest_unseen_share,
    sign_flip_p,
)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_that_of_clopper_and_pearson(counts):
    hits, trials = counts
    known = binomtest(hits, trials).proportion_ci(0.95, "exact")
    assert binomial_interval(hits / trials, trials) == pytest.approx((known.low, known.high), abs=1e-9)


@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.sampled_from([0.0, 1.0])))
def test_an_interval_holds_its_share_and_is_never_empty(table):
    found = from_crossed(table)
    assert 0 <= found.low <= found.share <= found.high <= 1
    assert found.low < found.high
    assert found.share == pytest.approx(table.mean())
    assert found.effective <= table.size


def test_repeats_of_one_question_are_not_new_questions():
    """Five questions that a model always answers right or always wrong: twenty repeats say no more than one."""
    questions = np.array([[1.0, 0.0, 1.0, 1.0, 0.0]])
    once, often = from_crossed(questions), from_crossed(np.repeat(questions, 20, axis=0))
    assert often.high - often.low > 0.95 * (once.high - once.low)
    right = from_crossed(np.ones((20, 3)))
    assert (right.low, right.high) == pytest.approx((0.025 ** (1 / 3), 1.0))


def test_intervals_cover():
    """Questions differ in difficulty; the interval covers the mean of all of them nearly always."""
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        difficulty = generator.beta(0.8, 0.8, 12)
        found = from_crossed(generator.random((5, 12)) < difficulty)
        covered += found.low <= 0.5 <= found.high
    assert covered >= 186


def test_shares_of_questions_have_the_trials_that_they_can_have():
    alone = from_questions([0.5], 4)
    assert (alone.low, alone.high) == pytest.approx(binomial_interval(0.5, 4))
    assert from_questions([1.0, 1.0, 1.0], 2).low == pytest.approx(0.025 ** (1 / 3))


def test_few_pairs_cannot_be_certain():
    assert sign_flip_p([1.0] * 3) == pytest.approx(0.25)
    assert sign_flip_p([1.0] * 6) == pytest.approx(2 / 64)
    assert sign_flip_p([0.0, 0.0]) == 1.0
    assert sign_flip_p([1.0, -1.0, 0.0]) == 1.0
    assert sign_flip_p([1.0] * 40) == 0.0
    assert largest_unseen_share(59) < 0.05 < largest_unseen_share(58)
