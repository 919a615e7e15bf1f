"""Axes have round ticks, and a place for every value."""

import numpy as np
import pytest

from glasshouse.pages import chart


def test_ticks_are_round() -> None:
    assert chart.linear(0, 1).ticks == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert chart.logarithmic(45, 2000).ticks == (50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)
    assert chart.steps(1, 3).tick_labels == ("step 1", "2", "3")


def test_an_axis_ends_where_the_quantity_ends() -> None:
    assert chart.linear(0.2, 0.99, most=1.0).high == 1.0
    assert chart.linear(0.2, 0.6, most=1.0).high == pytest.approx(0.62)
    assert chart.linear(0.2, 1.0, most=1.0).high == 1.0
    assert chart.linear(0.2, 1.5, most=1.0).high == 1.5, "a value beyond the end is still drawn"
    assert chart.logarithmic(0.01, 0.99, most=1.0).high == 1.0
    assert chart.linear(0.01, 3.0).low == 0.0


@pytest.mark.parametrize("log", [False, True])
def test_positions_are_fractions_near_the_axis(log: bool) -> None:
    axis = chart.Axis(1, 100, log=log)
    places = axis.fractions([1, 100, 1e200, np.nan])
    np.testing.assert_allclose(places, [0, 1, 2, np.nan])
    assert np.isnan(axis.fractions([-1])[0]) == log
    assert axis.value(axis.fraction(30)) == pytest.approx(30)
