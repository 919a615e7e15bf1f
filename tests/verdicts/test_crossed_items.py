"""Units crossed with items: the error of the grand mean agrees with the analysis of variance and keeps its promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from glasshouse.verdicts import skewness, statistics
from glasshouse.verdicts.crossed_items import crossed_mean

pytestmark = pytest.mark.filterwarnings("error")

tables = arrays(
    float, st.tuples(st.integers(2, 6), st.integers(2, 6)), elements=st.integers(-40, 40).map(lambda eighths: eighths / 8)
)


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
