"""Statistics behind verdicts: tests agree with scipy, corrections keep their bounds, and power is what it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from glasshouse.verdicts import estimates, statistics
from glasshouse.verdicts.skewness import sample_skewness
from glasshouse.verdicts.verdict import summarise

pytestmark = pytest.mark.filterwarnings("error")


@given(seed=st.integers(0, 10**6), pairs=st.integers(2, 40), margin=st.floats(0.1, 5))
def test_paired_tests_agree_with_scipy(seed, pairs, margin):
    first, second = np.random.default_rng(seed).standard_normal((2, pairs))
    mean, deviation = statistics.moments(second - first)
    expected = stats.ttest_rel(second, first)
    assert statistics.difference_p(mean, deviation, pairs) == pytest.approx(expected.pvalue, rel=1e-9)
    ends = estimates.from_units(second - first).interval(0.05, strength=0.0)
    assert ends == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-9)
    summary = summarise(second - first)
    assert (summary.low, summary.high) == pytest.approx(ends, rel=1e-9)
    below = stats.ttest_rel(second - margin, first, alternative="less").pvalue
    above = stats.ttest_rel(second + margin, first, alternative="greater").pvalue
    assert statistics.equivalence_p(mean, deviation, pairs, margin) == pytest.approx(max(below, above), rel=1e-9)


@given(seed=st.integers(0, 10**6), pairs=st.integers(3, 30), margin=st.floats(0.1, 5))
def test_tests_that_are_adjusted_for_skewness_agree_with_their_interval(seed, pairs, margin):
    differences = np.random.default_rng(seed).standard_exponential(pairs) - 1
    sample = (*statistics.moments(differences), pairs)
    skew = sample_skewness(differences)
    low, high = estimates.from_units(differences).interval(0.05)
    assert (statistics.difference_p(*sample, skew) <= 0.05) == (not low <= 0 <= high)
    inner_low, inner_high = estimates.from_units(differences).interval(0.1)
    equivalent = statistics.equivalence_p(*sample, margin, skew=skew) <= 0.05
    assert equivalent == (-margin <= inner_low and inner_high <= margin)


def test_a_margin_that_one_outlier_makes_shows_no_equivalence():
    """Its standard deviation has almost no degrees of freedom, so its lower bound is far below it."""
    deviation, degrees, _ = statistics.jackknife_deviation([0.0, 0.0, 0.0, 0.0, 0.0, 7.375])
    assert degrees < 0.1
    assert statistics.equivalence_p(3.0, 0.0, 6, deviation, degrees, skew=0.0) > 0.1
    bounds = statistics.deviation_lower_bound([1e-6, 0.1, 0.5, 2.0, 30.0], 1.645)
    assert (np.diff(bounds) >= 0).all()
    assert bounds[0] < 0.5


def test_the_seed_that_decides_is_found():
    """Evenly spread differences with a mean of 1: if they spread far, seven of eight are too few."""
    steps = np.linspace(-1, 1, 8)
    solid, doubtful = 1 + 0.2 * steps, 1 + 1.7 * steps
    assert statistics.one_seed_decides(solid) is None
    index = statistics.one_seed_decides(doubtful)
    assert index is not None

    def p(differences):
        moments = statistics.moments(differences)
        return statistics.difference_p(*moments, len(differences), sample_skewness(differences))

    without = [p(np.delete(doubtful, seed)) for seed in range(8)]
    assert p(doubtful) <= 0.05 < without[index] == max(without)
    # A margin far above the differences decides by itself, and an undecided study has nothing to lose.
    assert statistics.one_seed_decides(doubtful, margin=20.0) is None
    assert statistics.one_seed_decides(doubtful, alpha=0.001) is None
    assert statistics.one_seed_decides(doubtful[:2]) is None


def test_equivalence_is_stated_before_a_difference():
    outcomes = statistics.outcome([0.01, 0.01, 0.2, 0.2], [0.01, 0.2, 0.01, 0.2], 0.05, 0.05)
    assert outcomes.tolist() == [
        statistics.EQUIVALENT,
        statistics.DIFFERENT,
        statistics.EQUIVALENT,
        statistics.UNDECIDED,
    ]


@given(arrays(float, st.integers(1, 8), elements=st.floats(0, 1)))
def test_holm_is_monotone_and_never_below_p(p):
    adjusted = statistics.holm(p)
    order = np.argsort(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[order]) >= 0).all()
    assert adjusted.min() == pytest.approx(min(1.0, p.min() * len(p)))
    assert adjusted.max() == pytest.approx(min(1.0, max((len(p) - i) * p[j] for i, j in enumerate(order))))


@given(st.integers(1, 6).flatmap(lambda arms: arrays(float, (2, arms), elements=st.floats(0, 1))))
def test_holm_over_arms_lies_between_holm_and_bonferroni(p):
    """Up to rounding. An arm counts until both its tests, for a difference and for equivalence, are significant."""
    for single, adjusted in zip(p, statistics.holm_over_arms(*p), strict=True):
        assert (adjusted >= statistics.holm(single) - 1e-12).all()
        assert (adjusted <= np.minimum(single * len(single), 1) + 1e-12).all()


def test_an_arm_with_two_significant_tests_no_longer_counts():
    different, equivalent = statistics.holm_over_arms([1e-6, 0.03], [1e-6, 0.9])
    assert different == pytest.approx([2e-6, 0.03])
    assert equivalent == pytest.approx([2e-6, 0.9])
    # The first arm's test for equivalence is not significant, so the second arm is corrected for two arms.
    assert statistics.holm_over_arms([1e-6, 0.03], [0.9, 0.9])[0] == pytest.approx([2e-6, 0.06])


def test_constant_differences_have_p_values_of_0_or_1():
    mean, deviation = statistics.moments(np.full((3, 7), [[0.1], [0.0], [-0.1]]))
    assert (mean == [0.1, 0.0, -0.1]).all()
    assert (deviation == 0).all()
    assert (statistics.difference_p(mean, deviation, 7) == [0, 1, 0]).all()
    assert (statistics.equivalence_p(mean, deviation, 7, 0.2) == 0).all()
    assert (statistics.equivalence_p(mean, deviation, 7, 0.05) == [1, 0, 1]).all()
    # The margin is 0 if the first arm is constant too.
    assert (statistics.equivalence_p(mean, deviation, 7, 0.0, 6.0) == [1, 0, 1]).all()


def test_an_outlier_leaves_the_deviation_few_degrees_of_freedom():
    even = stats.norm.ppf((np.arange(16) + 0.5) / 16)
    heavy = even.copy()
    heavy[-1] = 12.0
    assert statistics.jackknife_deviation(even)[1] == 15
    deviation, degrees, influence = statistics.jackknife_deviation(heavy)
    assert deviation == pytest.approx(heavy.std(ddof=1))
    assert degrees < 2
    assert influence.argmax() == 15
    left_out = [np.log(np.delete(heavy, seed).std(ddof=1)) for seed in range(16)]
    assert influence == pytest.approx(np.mean(left_out) - left_out)


@pytest.mark.parametrize("pairs", [3, 4, 9, 30])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_power_is_that_of_the_noncentral_t(pairs, level):
    critical = stats.t.isf(level / 2, pairs - 1)
    for effect in (0.1, 0.5, 1.0):
        shift = effect * pairs**0.5
        expected = stats.nct.sf(critical, pairs - 1, shift) + (
            stats.nct.cdf(-critical, pairs - 1, shift) if shift < 2.5 else 0
        )
        assert statistics.difference_power(effect, pairs, level, strength=0.0) == pytest.approx(expected, abs=2e-4)
        # The adjustment for skewness costs little.
        assert expected - 0.05 < statistics.difference_power(effect, pairs, level) < expected + 0.01
    smallest = statistics.detectable_difference(2.0, pairs, level)
    assert statistics.difference_power(smallest / 2.0, pairs, level) == pytest.approx(0.8, abs=1e-6)


def test_the_detectable_difference_of_two_pairs_at_a_tiny_level_has_its_power():
    assert 0.79 < statistics.difference_power(statistics.detectable_difference(1.0, 2, 1e-7), 2, 1e-7) < 0.81


@pytest.mark.parametrize(("effect", "maximum", "exists"), [(0.8, 10_000, True), (0.05, 10_000, True), (0.05, 100, False)])
def test_seeds_needed_are_the_fewest(effect, maximum, exists):
    def power(seeds):
        return statistics.difference_power(effect, seeds, 0.05)

    needed = statistics.seeds_needed(power, 4, maximum)
    assert (needed is not None) == exists
    if needed is not None:
        assert power(needed) >= 0.8 > power(needed - 1)
