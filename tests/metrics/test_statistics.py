"""The tests behind verdicts: they agree with scipy, keep their level in simulated studies, and have the power they say."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from glasshouse.metrics import sequential_tests, statistics
from glasshouse.metrics.verdicts import VerdictRule
from glasshouse.metrics.verdicts import judge as judge_one

pytestmark = pytest.mark.filterwarnings("error")

LOOKS = (4, 8, 12, 16)
chances = arrays(float, st.integers(1, 8), elements=st.floats(0, 1))


@pytest.fixture(scope="module")
def simulation():
    """benchmarks/verdicts.py, which judges many studies at once."""
    path = Path(__file__).parents[2] / "benchmarks" / "verdicts.py"
    specification = importlib.util.spec_from_file_location("verdicts_benchmark", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def normal(*size, seed=0):
    return np.random.default_rng(seed).standard_normal(size)


@given(seed=st.integers(0, 10**6), pairs=st.integers(2, 40), margin=st.floats(0.1, 5))
def test_paired_tests_agree_with_scipy(seed, pairs, margin):
    first, own = normal(2, pairs, seed=seed)
    mean, deviation = statistics.moments(own - first)
    known = stats.ttest_rel(own, first)
    assert statistics.difference_p(mean, deviation, pairs) == pytest.approx(known.pvalue, rel=1e-9)
    half = statistics.half_width(deviation, pairs, 0.05)
    assert (mean - half, mean + half) == pytest.approx(tuple(known.confidence_interval(0.95)), rel=1e-9)
    below = stats.ttest_rel(own - margin, first, alternative="less").pvalue
    above = stats.ttest_rel(own + margin, first, alternative="greater").pvalue
    assert statistics.equivalence_p(mean, deviation, pairs, margin) == pytest.approx(max(below, above), rel=1e-9)


@given(chances)
def test_holm_is_monotone_and_never_below_p(p):
    adjusted = statistics.holm(p)
    order = np.argsort(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[order]) >= 0).all()
    assert adjusted.min() == pytest.approx(min(1.0, p.min() * len(p)))
    assert adjusted.max() == pytest.approx(min(1.0, max((len(p) - i) * p[j] for i, j in enumerate(order))))


@given(st.integers(1, 6).flatmap(lambda arms: arrays(float, (2, arms), elements=st.floats(0, 1))))
def test_both_questions_together_cost_at_least_holm_and_at_most_bonferroni(p):
    """Rounding aside: an arm counts for the others until both its questions are answered."""
    for own, adjusted in zip(p, statistics.corrected(*p), strict=True):
        assert (adjusted >= statistics.holm(own) - 1e-12).all()
        assert (adjusted <= np.minimum(own * len(own), 1) + 1e-12).all()


def test_an_arm_with_both_questions_answered_no_longer_counts():
    different, equivalent = statistics.corrected([1e-6, 0.03], [1e-6, 0.9])
    assert different == pytest.approx([2e-6, 0.03])
    assert equivalent == pytest.approx([2e-6, 0.9])
    # The other question of the first arm is open: the second arm pays for two.
    assert statistics.corrected([1e-6, 0.03], [0.9, 0.9])[0] == pytest.approx([2e-6, 0.06])


def test_what_does_not_vary_is_no_difference_or_a_certain_one():
    mean, deviation = statistics.moments(np.full((3, 7), [[0.1], [0.0], [-0.1]]))
    assert (mean == [0.1, 0.0, -0.1]).all()
    assert (deviation == 0).all()
    assert (statistics.difference_p(mean, deviation, 7) == [0, 1, 0]).all()
    assert (statistics.equivalence_p(mean, deviation, 7, 0.2) == 0).all()
    assert (statistics.equivalence_p(mean, deviation, 7, 0.05) == [1, 0, 1]).all()
    # A margin of 0, because the first arm does not vary either.
    assert (statistics.equivalence_p(mean, deviation, 7, 0.0, 6.0) == [1, 0, 1]).all()


def test_heavy_tails_leave_the_deviation_less_certain():
    even = stats.norm.ppf((np.arange(16) + 0.5) / 16)
    wild = even.copy()
    wild[-1] = 12.0
    assert statistics.spread(even)[1] == 15
    deviation, degrees, pull = statistics.spread(wild)
    assert deviation == pytest.approx(wild.std(ddof=1))
    assert degrees < 2
    assert pull.argmax() == 15
    left_out = [np.log(np.delete(wild, seed).std(ddof=1)) for seed in range(16)]
    assert pull == pytest.approx(np.mean(left_out) - left_out)


@pytest.mark.parametrize("pairs", [3, 4, 9, 30])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_power_is_that_of_the_noncentral_t(pairs, level):
    critical = stats.t.isf(level / 2, pairs - 1)
    for effect in (0.1, 0.5, 1.0):
        shift = effect * pairs**0.5
        known = stats.nct.sf(critical, pairs - 1, shift) + (stats.nct.cdf(-critical, pairs - 1, shift) if shift < 2.5 else 0)
        assert statistics.difference_power(effect, pairs, level) == pytest.approx(known, abs=2e-4)
    smallest = statistics.smallest_found(2.0, pairs, level)
    assert statistics.difference_power(smallest / 2.0, pairs, level) == pytest.approx(0.8, abs=1e-6)


def test_power_of_two_pairs_at_a_tiny_level_is_found_at_once():
    assert 0.79 < statistics.difference_power(statistics.smallest_found(1.0, 2, 1e-7), 2, 1e-7) < 0.81


@pytest.mark.parametrize(("effect", "most", "found"), [(0.8, 10_000, True), (0.05, 10_000, True), (0.05, 100, False)])
def test_seeds_needed_are_the_fewest(effect, most, found):
    def power(seeds):
        return statistics.difference_power(effect, seeds, 0.05)

    needed = statistics.seeds_needed(power, 4, most)
    assert (needed is not None) == found
    if needed is not None:
        assert power(needed) >= 0.8 > power(needed - 1)


def test_looks_agree_with_two_normal_looks():
    """With thousands of seeds t is normal, and two looks at half and all of them correlate by the root of a half."""
    looks = (5000, 10_000)
    levels = [sequential_tests.nominal(0.05, looks, look) for look in looks]
    assert levels[0] == pytest.approx(levels[1] * 0.5**sequential_tests.SHAPE)
    both = stats.multivariate_normal([0, 0], [[1, 0.5**0.5], [0.5**0.5, 1]])
    bounds = stats.norm.isf(np.array(levels) / 2)
    inside = both.cdf(bounds, lower_limit=-bounds)
    assert 0.048 < 1 - inside <= 0.05


@settings(deadline=None)
@given(st.floats(0, 1), st.booleans())
def test_p_over_looks_is_between_p_and_its_sum(p, two_sided):
    last = LOOKS[-1]
    over = float(sequential_tests.over_looks(p, LOOKS, last, two_sided))
    assert p <= over * (1 + 1e-9) + 1e-9
    assert over <= min(1.0, p * len(LOOKS) + 1e-12)
    assert float(sequential_tests.over_looks(p, LOOKS, LOOKS[0], two_sided)) >= over
    assert float(sequential_tests.over_looks(p, (last,), last, two_sided)) == p


def test_levels_of_looks_invert_their_p_and_grow_with_the_seeds():
    levels = [sequential_tests.nominal(0.05, LOOKS, look) for look in LOOKS]
    assert levels == sorted(levels)
    for level, look in zip(levels, LOOKS, strict=True):
        assert sequential_tests.over_looks(level, LOOKS, look) == pytest.approx(0.05, rel=1e-3)
    # A quarter of the chance is less than a quarter of the level: dividing levels by the arms would promise too much.
    assert sequential_tests.nominal(0.0125, LOOKS, 16) < 0.95 * levels[-1] / 4


def test_no_effect_is_seldom_called_one(simulation):
    """5,000 studies of five arms, once with 8 seeds and once looked at up to eight times."""
    values = simulation.draw("normal", (5000, 5, 32), 0.5, np.random.default_rng(1))
    truth = np.zeros(4)
    judged = simulation.judge(values[..., :8])
    assert 0.025 < judged.false(truth).mean() < 0.06
    assert 0.94 < judged.covers(truth).mean() < 0.96
    result = simulation.conduct(values, truth, None, simulation.LOOKS)
    assert 0.02 < result.false.mean() < 0.06
    assert result.covers.mean() > 0.94
    # The same looks without the correction for them: the error that it prevents.
    naive = np.zeros(5000, dtype=bool)
    for look in simulation.LOOKS:
        naive |= simulation.judge(values[..., :look]).false(truth)
    assert naive.mean() > 0.09


def test_a_difference_at_the_margin_is_seldom_called_none(simulation):
    """Pairs that correlate by 0.8, 16 seeds: where a margin taken for known would fail."""
    values = simulation.draw("normal", (5000, 2, 16), 0.8, np.random.default_rng(2))
    values[:, 1] += 1.0
    assert 0.02 < simulation.judge(values).equivalent.mean() < 0.055
    mean, deviation = statistics.moments(values[:, 1] - values[:, 0])
    taken_for_known = statistics.equivalence_p(mean, deviation, 16, values[:, 0].std(axis=-1, ddof=1))
    assert (taken_for_known <= 0.05).mean() > 0.1
    values[:, 1] -= 1.0
    assert simulation.judge(values).equivalent.mean() > 0.97


def test_power_is_as_predicted(simulation):
    values = simulation.draw("normal", (5000, 2, 8), 0.0, np.random.default_rng(3))
    values[:, 1] += 2**0.5
    assert simulation.judge(values).different.mean() == pytest.approx(statistics.difference_power(1.0, 8, 0.05), abs=0.02)
    for shared, seeds in ((0.0, 32), (0.8, 8)):
        values = simulation.draw("normal", (5000, 2, seeds), shared, np.random.default_rng(4))
        predicted = statistics.equivalence_power(0.0, (2 * (1 - shared)) ** 0.5, seeds, 1.0, 0.05, estimated=True)
        assert simulation.judge(values).equivalent.mean() == pytest.approx(predicted, abs=0.03)


@pytest.mark.parametrize("looks", [(), LOOKS])
@pytest.mark.parametrize("margin", [None, 0.9])
def test_many_studies_at_once_are_judged_as_one_is(simulation, looks, margin):
    values = simulation.draw("heavy tails", (30, 4, 8), 0.6, np.random.default_rng(5))
    values[:, 1] -= 2.0
    judged = simulation.judge(values, margin, looks)
    for study, table in enumerate(values):
        arms = {f"arm {arm}": dict(enumerate(row)) for arm, row in enumerate(table)}
        for place, found in enumerate(judge_one(arms, VerdictRule(margin=margin, looks=looks)).values()):
            assert found.mean == pytest.approx(judged.mean[study, place])
            assert (found.high - found.low) / 2 == pytest.approx(judged.half[study, place])
            expected = "undecided"
            if judged.different[study, place]:
                expected = "better" if found.mean < 0 else "worse"
            elif judged.equivalent[study, place]:
                expected = "no difference"
            assert found.word == expected
    assert judged.different.any()
    assert judged.equivalent.any()
