"""Intervals of shares: known values, the right coverage when answers to a question are alike, and honest ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from glasshouse.verdicts.proportions import binomial_interval, from_questions, largest_unseen_share, sign_flip_p


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
