"""Charts of curves and of means: scales, gaps, remarks, and what a long curve keeps."""

import json
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

from glasshouse.pages import line_charts, svg_chart
from glasshouse.pages.chart import Chart, Dots, Interval, Line
from glasshouse.pages.line_charts import MOST_POINTS, curve_chart, settings_chart, thin, xy_chart
from glasshouse.results.report import Curve


def curve(values: list[float], name: str = "loss") -> Curve:
    """A curve with these values at the steps 1, 2, 3, ..."""
    return Curve(name, [float(step) for step in range(1, len(values) + 1)], values)


def marks(chart: Chart, kind: type) -> list:
    return [mark for series in chart.series for mark in series.marks if isinstance(mark, kind)]


def test_both_scales_are_drawn_and_one_is_visible() -> None:
    root = ElementTree.fromstring(svg_chart.draw(curve_chart([curve([100.0, 10.0, 1.0])])))
    display = {
        group.attrib["data-scale"]: group.attrib.get("display") for group in root.iter("g") if "data-scale" in group.attrib
    }
    assert display == {"linear": "none", "log": None}
    assert curve_chart([curve([3.0, 1.0])]).shown == "linear"


def test_no_log_scale_at_or_below_zero() -> None:
    assert list(curve_chart([curve([2.0, 1.0])]).scales) == ["linear", "log"]
    assert list(curve_chart([curve([2.0, 0.0])]).scales) == ["linear"]


def test_a_value_that_is_not_finite_is_a_gap_and_a_remark() -> None:
    diverged = curve([3.0, 2.0, math.nan, math.inf, 1.0])
    drawn = ElementTree.fromstring(svg_chart.draw(curve_chart([diverged])))
    assert json.loads(drawn.attrib["data-chart"])["curves"][0]["values"] == [3, 2, None, None, 1]
    line = next(path for path in drawn.iter("path") if path.attrib.get("class") == "line")
    assert line.attrib["d"].count("M") == 2
    assert line_charts.remarks([diverged]) == ["loss: 2 values are not finite (from step 3); the line has a gap there."]


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, -math.inf]])
def test_a_chart_without_finite_values_says_so(values: list[float]) -> None:
    assert curve_chart([curve(values)]) == Chart("nothing to draw")
    assert line_charts.legend([curve(values)])[0].last == "–"


def test_one_point_is_a_dot() -> None:
    assert 'class="dots"' in svg_chart.draw(curve_chart([curve([2.5])]))


def test_a_long_curve_keeps_its_extremes_ends_and_gaps() -> None:
    values = np.random.default_rng(0).normal(5, 1, 50_000)
    values[[31_234, 40_001]] = [90.0, -70.0]
    values[20_000] = np.nan
    long = curve(values.tolist())
    steps, kept = thin(long)
    assert len(steps) <= MOST_POINTS
    assert (steps[0], steps[-1]) == (1, 50_000)
    assert {90.0, -70.0} <= set(kept)
    assert steps[np.isnan(kept)] == [20_001]
    assert len(svg_chart.draw(curve_chart([long]))) < 100_000


def test_points_are_sorted_by_step() -> None:
    steps, values = thin(Curve("loss", [3, 1, math.nan, 2], [30, 10, 0, 20]))
    assert steps.tolist() == [1, 2, 3]
    assert values.tolist() == [10, 20, 30]


def test_means_with_intervals_are_drawn_at_equally_spaced_settings() -> None:
    lines = {"a <b>": {64: (2.0, math.nan, math.nan), 32: (1.0, 0.9, 1.1)}, "c": {64: (30.0, 20.0, 40.0)}}
    chart = settings_chart(lines, "width", "loss & co")
    assert chart.x.tick_labels == ("32", "64")
    assert [list(line.x) for line in marks(chart, Line)] == [[0, 1], [1]]
    assert [(bar.at, bar.low) for bar in marks(chart, Interval)] == [(0, 0.9), (1, 20)]
    assert len({dots.shape for dots in marks(chart, Dots)}) == 2, "lines differ in shape as well as in colour"
    ElementTree.fromstring(svg_chart.draw(chart, alone=True))
    ElementTree.fromstring(svg_chart.draw(settings_chart({}, "width", "loss"), alone=True))


def test_an_interval_that_reaches_zero_is_cut_on_a_logarithmic_scale() -> None:
    chart = settings_chart({"a": {512: (1.0, -2.0, 4.0), 2**20: (40.0, 39.0, 41.0)}}, "n", "ms")
    assert chart.x.tick_labels == ("512", "1 M")
    assert {"10", "20"} <= set(chart.scales["linear"].tick_labels)
    assert marks(chart, Interval)[0].low == chart.scales["linear"].low > 0


def test_a_baseline_is_a_line_on_an_axis_of_percentages() -> None:
    chart = settings_chart({"": {1.0: (0.3, 0.2, 0.4), 2.0: (0.5, 0.4, 0.6)}}, "examples", "accuracy")
    chart = line_charts.with_baseline(chart, "guessing", 0.25)
    assert chart.scales["linear"].tick_labels[0] == "0%"
    assert [text.text for text in chart.texts] == ["guessing"]
    assert marks(chart, Line)[0].y == (0.25, 0.25)


def test_curves_are_drawn_over_steps() -> None:
    chart = xy_chart({"one": [(0, 3.0), (100, 1.0)], "two": [(0, 2.0), (50, math.nan), (100, 1.5)]}, "step", "loss")
    assert [list(line.x) for line in marks(chart, Line)] == [[0, 100], [0, 100]]
    assert marks(replace(chart), Dots) == []
