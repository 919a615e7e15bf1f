"""Axes have round ticks."""

import pytest

from glasshouse.pages import axes


def test_ticks_are_round() -> None:
    assert axes.linear(0, 1).ticks == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert axes.logarithmic(45, 2000).ticks == (50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)
    assert axes.steps(1, 3).ticks == (1.0, 2.0, 3.0)


def test_an_axis_ends_where_the_quantity_ends() -> None:
    assert axes.linear(0.2, 0.99, most=1.0).high == 1.0
    assert axes.linear(0.2, 0.6, most=1.0).high == pytest.approx(0.62)
    assert axes.linear(0.2, 1.0, most=1.0).high == 1.0
    assert axes.linear(0.2, 1.5, most=1.0).high == 1.5, "a value beyond the end is still drawn"
    assert axes.logarithmic(0.01, 0.99, most=1.0).high == 1.0
    assert axes.linear(0.01, 3.0).low == 0.0
