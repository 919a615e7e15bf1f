"""Thinned curves keep their extremes, ends and gaps."""

import math

import numpy as np

from glasshouse.pages import charts
from glasshouse.pages.curve_thinning import MOST_POINTS, thin
from glasshouse.results.report import Curve


def test_a_long_curve_keeps_its_extremes_ends_and_gaps() -> None:
    values = np.random.default_rng(0).normal(5, 1, 50_000)
    values[[31_234, 40_001]] = [90.0, -70.0]
    values[20_000] = np.nan
    curve = Curve("loss", [float(step) for step in range(1, len(values) + 1)], values.tolist())
    steps, kept = thin(curve)
    assert len(steps) <= MOST_POINTS
    assert (steps[0], steps[-1]) == (1, 50_000)
    assert {90.0, -70.0} <= set(kept)
    assert steps[np.isnan(kept)] == [20_001]
    assert len(charts.line_chart((curve,))) < 100_000


def test_points_are_sorted_by_step() -> None:
    steps, values = thin(Curve("loss", [3, 1, math.nan, 2], [30, 10, 0, 20]))
    assert steps.tolist() == [1, 2, 3]
    assert values.tolist() == [10, 20, 30]
