"""The skewness-adjusted t-test: exact for normal values, Student's at strength 0, and harder on the side of a long tail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from glasshouse.verdicts import skewness, statistics

pytestmark = pytest.mark.filterwarnings("error")

statistic_values = st.floats(-50, 50)
skewness_values = st.floats(-3, 3)
freedom = st.floats(1, 200)
strengths = st.sampled_from([0.0, skewness.ONE_LOOK, skewness.SEVERAL_LOOKS])


@given(arrays(float, st.integers(3, 30), elements=st.integers(-1000, 1000).map(float)))
def test_the_skewness_agrees_with_scipy_and_does_not_depend_on_the_unit(values):
    found = float(skewness.sample_skewness(values))
    if np.ptp(values) == 0:
        assert found == 0
        return
    assert found == pytest.approx(stats.skew(values), abs=1e-9)
    assert float(skewness.sample_skewness(values * 1e150)) == pytest.approx(found, abs=1e-9)
    assert float(skewness.sample_skewness(-values)) == -found


@pytest.mark.parametrize("degrees", [1.0, 3.0, 7.5, 40.0])
def test_strength_0_is_students_t(degrees):
    t = np.linspace(-6, 6, 25)
    assert skewness.p_above(t, 1.5, degrees, 0.0) == pytest.approx(stats.t.sf(t, degrees))
    assert skewness.p_two_sided(t, 1.5, degrees, 0.0) == pytest.approx(2 * stats.t.sf(np.abs(t), degrees))
    below, above = skewness.interval_widths(0.05, 1.5, degrees, 0.0)
    assert below == above == pytest.approx(stats.t.isf(0.025, degrees))


@given(statistic_values, skewness_values, freedom, strengths)
def test_p_values_are_symmetric_and_the_two_directions_exclude_each_other(t, skew, degrees, strength):
    above = float(skewness.p_above(t, skew, degrees, strength))
    below = float(skewness.p_above(-t, -skew, degrees, strength))
    assert 0 <= above <= 1
    assert above + below == pytest.approx(1.0, abs=1e-12)
    assert float(skewness.p_two_sided(t, skew, degrees, strength)) == pytest.approx(2 * min(above, below), rel=1e-6)


@given(st.floats(0, 50), skewness_values, freedom, strengths, st.floats(0, 3))
def test_p_falls_with_the_statistic_and_rises_with_a_tail_to_the_left(t, skew, degrees, strength, step):
    p = float(skewness.p_above(t, skew, degrees, strength))
    assert float(skewness.p_above(t + step, skew, degrees, strength)) <= p
    assert float(skewness.p_above(t, skew - step, degrees, strength)) >= p


@given(st.floats(0.001, 0.2), skewness_values, freedom, strengths)
def test_the_interval_inverts_the_tests(level, skew, degrees, strength):
    """The mean is 0 and the error 1: each end is the threshold that its test rejects at half the level."""
    below, above = map(float, skewness.interval_widths(level, skew, degrees, strength))
    assert float(skewness.p_above(below, skew, degrees, strength)) == pytest.approx(level / 2, rel=1e-6)
    assert float(skewness.p_above(above, -skew, degrees, strength)) == pytest.approx(level / 2, rel=1e-6)
    assert below <= above or skew < 0


def test_a_table_gives_the_same_p_values_as_the_definition():
    t = np.sinh(np.linspace(0, 7, 2000))
    looked_up = skewness.upper_tail(t, 5.0)
    direct = np.concatenate([skewness.upper_tail(part, 5.0) for part in np.array_split(t, 20)])
    assert looked_up == pytest.approx(direct, rel=1e-4)
    assert skewness.upper_tail(np.full(1000, np.inf), 5.0).max() == 0
    levels = stats.norm.sf([0.5, 1.0, 2.0, 4.0])
    expected = [float(skewness.upper_quantile(level, 5.0)) for level in levels]
    assert skewness.quantiles_at(np.array([0.5, 1.0, 2.0, 4.0]), 5.0, 1.0) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("size", [3, 5, 8, 20])
def test_the_skewness_of_normal_samples_is_drawn_from_its_distribution(size):
    generator = np.random.default_rng(1)
    drawn = skewness.normal_skewness(size, generator, 40_000)
    simulated = skewness.sample_skewness(generator.standard_normal((40_000, size)))
    places = [0.05, 0.25, 0.5, 0.75, 0.9, 0.98]
    assert np.quantile(drawn, places) == pytest.approx(np.quantile(simulated, places), abs=0.05)


@pytest.mark.parametrize("seeds", [3, 4, 8, 24])
@pytest.mark.parametrize("strength", [skewness.ONE_LOOK, skewness.SEVERAL_LOOKS])
def test_the_test_is_exact_for_normal_values(seeds, strength):
    values = np.random.default_rng(seeds).standard_normal((40_000, seeds))
    p = statistics.difference_p(*statistics.moments(values), seeds, skewness.sample_skewness(values), strength)
    for level in (0.01, 0.05, 0.3):
        assert np.mean(p <= level) == pytest.approx(level, abs=4 * (level / 40_000) ** 0.5)


def test_skewed_values_are_judged_better_than_by_the_t_test():
    """Sums of two exponential values, as in studies whose arms are skewed apart; 16 seeds."""
    values = np.random.default_rng(2).standard_gamma(2, (20_000, 16)) - 2
    sample = (*statistics.moments(values), 16)
    plain = np.mean(statistics.difference_p(*sample) <= 0.05)
    adjusted = np.mean(statistics.difference_p(*sample, skewness.sample_skewness(values)) <= 0.05)
    assert plain > 0.063
    assert adjusted < 0.057
