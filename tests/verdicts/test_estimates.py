"""Estimates: their tests and intervals agree, and too little data show nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from glasshouse.verdicts import skewness, statistics
from glasshouse.verdicts.estimates import Estimate, crossed_mean, from_units, from_units_and_items
from glasshouse.verdicts.skewness import sample_skewness

pytestmark = pytest.mark.filterwarnings("error")

values_of_units = st.lists(st.integers(-80, 80).map(lambda eighths: eighths / 8), min_size=2, max_size=20)
tables = arrays(
    float, st.tuples(st.integers(2, 6), st.integers(2, 6)), elements=st.integers(-40, 40).map(lambda eighths: eighths / 8)
)


@given(values_of_units, st.floats(-12, 12))
def test_an_estimate_over_units_is_the_paired_test(values, threshold):
    estimate = from_units(values)
    assert (estimate.units, estimate.items, estimate.degrees) == (len(values), 0, len(values) - 1)
    if estimate.error:
        moved = np.array(values) - threshold
        skew = sample_skewness(values)
        expected = float(statistics.difference_p(moved.mean(), moved.std(ddof=1), len(values), skew))
        two_sided = 2 * min(estimate.p_above(threshold), estimate.p_below(threshold))
        assert two_sided == pytest.approx(expected, rel=1e-6)


@given(values_of_units, st.floats(0.01, 0.3))
def test_the_interval_is_what_neither_test_rejects(values, level):
    estimate = from_units(values)
    low, high = estimate.interval(level)
    assert low <= estimate.mean <= high
    if estimate.error:
        assert estimate.p_above(low) == pytest.approx(level / 2, rel=1e-4)
        assert estimate.p_below(high) == pytest.approx(level / 2, rel=1e-4)


@given(values_of_units, st.floats(-12, 12), st.floats(0, 5))
def test_p_values_are_monotone_and_change_places_if_the_values_are_negated(values, threshold, step):
    estimate, negated = from_units(values), from_units([-value for value in values])
    # The last bits of a p-value depend on the processor.
    assert estimate.p_above(threshold) <= estimate.p_above(threshold + step) + 1e-12
    assert estimate.p_below(threshold) >= estimate.p_below(threshold + step) - 1e-12
    assert negated.p_above(-threshold) == pytest.approx(estimate.p_below(threshold), rel=1e-9)


def test_one_unit_shows_nothing():
    for estimate in (from_units([3.0]), from_units_and_items([[1.0, 5.0]]), from_units_and_items([[1.0], [5.0]])):
        assert estimate.mean == 3.0
        assert math.isnan(estimate.error)
        assert (estimate.p_above(-9.0), estimate.p_below(9.0)) == (1.0, 1.0)
        assert all(map(math.isnan, estimate.interval()))


def test_a_value_that_every_unit_has_is_certain():
    for estimate in (from_units([0.1] * 3), from_units_and_items(np.full((3, 4), 0.1))):
        assert (estimate.mean, estimate.error, estimate.interval()) == (0.1, 0.0, (0.1, 0.1))
        assert (estimate.p_above(0.0), estimate.p_above(0.1), estimate.p_below(0.1), estimate.p_below(0.2)) == (0, 1, 1, 0)


def test_items_that_are_a_sample_widen_the_interval():
    generator = np.random.default_rng(5)
    table = 0.1 + 0.02 * generator.standard_normal((8, 1)) + 0.4 * generator.standard_normal((1, 60))
    sampled, fixed = from_units_and_items(table), from_units(table.mean(axis=1).tolist())
    assert (sampled.units, sampled.items, fixed.items) == (8, 60, 0)
    assert sampled.mean == pytest.approx(fixed.mean)
    widths = [high - low for low, high in (sampled.interval(), fixed.interval())]
    assert widths[0] > 3 * widths[1]
    assert sampled.p_above() > fixed.p_above()


def test_a_long_tail_lengthens_its_side_of_the_interval():
    low, high = from_units([0.0, 0.1, 0.2, 0.1, 0.0, 2.0]).interval()
    mean = 0.4
    assert high - mean > 1.5 * (mean - low)


def test_an_estimate_by_hand_needs_only_mean_error_and_degrees():
    p = float(statistics.difference_p(1.0, 0.5 * 11**0.5, 11, 0.0)) / 2
    assert Estimate(1.0, 0.5, 10.0, 11).p_above() == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("values", [[1.0, math.nan], [math.inf, 2.0, -math.inf]])
def test_values_that_are_not_finite_are_refused(values):
    count = sum(not math.isfinite(value) for value in values)
    with pytest.raises(ValueError, match=f"{count} of {len(values)}"):
        from_units(values)
    with pytest.raises(ValueError, match="not finite"):
        from_units_and_items([values, values])
    with pytest.raises(ValueError, match="at least one value"):
        from_units([])


@given(tables)
def test_the_variance_is_never_below_that_of_units_alone_or_of_items_alone(table):
    result = crossed_mean(table)
    assert float(result.mean) == pytest.approx(table.mean(), abs=1e-12)
    for means in (table.mean(axis=1), table.mean(axis=0)):
        assert float(result.error) >= means.std(ddof=1) / len(means) ** 0.5 - 1e-12
    # Effects of units and items that cancel by chance are no certainty.
    assert (float(result.error) > 0) == (np.ptp(table) > 0)
    assert float(result.degrees) > 0
    assert np.isfinite(float(result.skewness))


@given(tables, st.sampled_from([0.25, 8.0]), st.integers(-3, 3))
def test_units_and_items_are_interchangeable_and_the_unit_of_the_values_does_not_matter(table, scale, shift):
    one, transposed, scaled = crossed_mean(table), crossed_mean(table.T), crossed_mean(-scale * table + shift)
    for name in ("mean", "error", "skewness"):
        assert float(getattr(transposed, name)) == pytest.approx(float(getattr(one, name)), rel=1e-6, abs=1e-9)
    assert float(scaled.error) == pytest.approx(scale * float(one.error), rel=1e-6, abs=1e-9)
    assert float(scaled.skewness) == pytest.approx(-float(one.skewness), rel=1e-5, abs=1e-6)


def test_a_known_table_has_the_mean_squares_of_the_textbook():
    """Units 0, 1, 2 and items 0, 10 without a residual: mean squares 2, 150 and 0."""
    table = np.array([[0.0, 10.0], [1.0, 11.0], [2.0, 12.0]])
    assert float(crossed_mean(table).error) == pytest.approx(((2 + 150) / 6) ** 0.5)


def test_items_that_do_not_vary_leave_the_error_and_the_skewness_of_the_units():
    units = np.array([0.1, 0.4, 0.2, 1.5, 0.3])
    result = crossed_mean(np.repeat(units[:, None], 40, axis=1))
    assert float(result.error) == pytest.approx(units.std(ddof=1) / 5**0.5)
    assert float(result.degrees) == pytest.approx(4)
    assert float(result.skewness) == pytest.approx(float(skewness.sample_skewness(units)))


def test_equal_values_have_no_error():
    result = crossed_mean(np.full((3, 2, 5), [[[0.1]], [[0.0]], [[-7.0]]]))
    assert (result.mean == [0.1, 0.0, -7.0]).all()
    assert (result.error == 0).all()
    assert (result.skewness == 0).all()


@pytest.mark.parametrize(("seed_deviation", "item_deviation"), [(0.0, 0.3), (0.1, 1.0), (0.4, 0.3)])
def test_equal_arms_are_seldom_called_different_over_the_population_of_items(seed_deviation, item_deviation):
    """8 seeds, 40 items, 4,000 studies. With items taken as fixed, up to half of the verdicts would be false."""
    generator = np.random.default_rng(3)
    values = generator.standard_normal((4000, 8, 40))
    values += seed_deviation * generator.standard_normal((4000, 8, 1))
    values += item_deviation * generator.standard_normal((4000, 1, 40))
    result = crossed_mean(values)
    p = skewness.p_two_sided(result.mean / result.error, result.skewness, result.degrees)
    assert 0.015 < np.mean(p <= 0.05) < 0.064
    if item_deviation == 1.0:
        means = values.mean(axis=-1)
        assert np.mean(statistics.difference_p(*statistics.moments(means), 8) <= 0.05) > 0.25
