"""Line charts and bar charts: scales, gaps and remarks. Any logged number gives well-formed SVG."""

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from glasshouse.pages import charts
from glasshouse.results.report import Curve


def curve(values: list[float], name: str = "loss") -> Curve:
    """A curve with these values at the steps 1, 2, 3, ..."""
    return Curve(name, [float(step) for step in range(1, len(values) + 1)], values)


def chart_data(svg: str) -> dict:
    """The numbers that a chart holds for charts.js."""
    return json.loads(ElementTree.fromstring(svg).attrib["data-chart"])


def test_both_scales_are_drawn_and_one_is_visible() -> None:
    root = ElementTree.fromstring(charts.line_chart((curve([100.0, 10.0, 1.0]),), log=True))
    display = {
        group.attrib["data-scale"]: group.attrib.get("display") for group in root.iter("g") if "data-scale" in group.attrib
    }
    assert display == {"linear": "none", "log": None}


def test_no_log_scale_at_or_below_zero() -> None:
    assert charts.has_log_scale((curve([2.0, 1.0]),))
    assert not charts.has_log_scale((curve([2.0, 0.0]),))
    assert list(chart_data(charts.line_chart((curve([2.0, 0.0]),), log=True))["scales"]) == ["linear"]


def test_a_value_that_is_not_finite_is_a_gap_and_a_remark() -> None:
    diverged = curve([3.0, 2.0, math.nan, math.inf, 1.0])
    assert chart_data(charts.line_chart((diverged,)))["curves"][0]["values"] == [3, 2, None, None, 1]
    root = ElementTree.fromstring(charts.line_chart((diverged,)))
    line = next(path for path in root.iter("path") if path.attrib.get("class") == "line")
    assert line.attrib["d"].count("M") == 2
    assert charts.remarks((diverged,)) == ["loss: 2 values are not finite (from step 3); the line has a gap there."]


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, -math.inf]])
def test_a_chart_without_finite_values_says_so(values: list[float]) -> None:
    assert "nothing to draw" in charts.line_chart((curve(values),))
    assert charts.legend((curve(values),))[0].last == "–"


def test_one_point_is_a_dot() -> None:
    assert 'class="dots"' in charts.line_chart((curve([2.5]),))


numbers = some.lists(some.floats(), max_size=30)


@settings(max_examples=60)
@given(numbers, numbers)
def test_any_numbers_make_a_well_formed_drawing(first: list[float], second: list[float]) -> None:
    for log in (False, True):
        svg = charts.line_chart((curve(first, "a < b"), curve(second, '"&')), log=log)
        ElementTree.fromstring(svg)
        assert "nan" not in svg
        assert "inf" not in svg.replace("inf ", "")


def test_a_bar_shows_its_share_and_escapes_its_name() -> None:
    svg = charts.bar_chart((("embedding", 750), ("a <very> long name for a part of a model", 250), ("none", 0)))
    ElementTree.fromstring(svg)
    assert "75%" in svg
    assert "a &lt;very&gt; long nam" in svg
    ElementTree.fromstring(charts.bar_chart(()))


def test_image_files_have_the_light_colours_of_the_pages() -> None:
    light = Path(charts.__file__).with_name("page.css").read_text().split("}")[0]
    assert {tone: re.search(rf"--{tone}: (#\w+);", light)[1] for tone in charts.TONES} == charts.LIGHT_COLOURS
