"""Axes have round ticks."""

from glasshouse.pages import axes


def test_ticks_are_round() -> None:
    assert axes.linear(0, 1).ticks == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert axes.logarithmic(45, 2000).ticks == (50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)
    assert axes.steps(1, 3).ticks == (1.0, 2.0, 3.0)
