"""A chart as SVG: well formed, the same bytes for the same numbers, within its frame."""

import json
import math
import re
import xml.etree.ElementTree as ElementTree

from hypothesis import given, settings
from hypothesis import strategies as some

from glasshouse.pages import chart, line_charts, svg_chart
from glasshouse.pages.chart import Band, Chart, Dots, Interval, Line, MarkGroup, Text
from glasshouse.results.report import Curve

MARKS = [
    Line([1, 10, 50, 100], [1, 5, math.nan, 2]),
    Band([1, 10], [0.5, 3], [2, 8]),
    Dots([2, 50], [2, 4], shape="ring"),
    Interval(3, 0.001, 1e9),
    Interval(4, math.nan, math.nan, across=True),
]


def example(**changes) -> Chart:
    series = [MarkGroup(MARKS, "line <a>", dash=1, about="a & b"), MarkGroup([Dots([3], [3])], "dots")]
    axes = {"x": chart.logarithmic(1, 100), "scales": {"linear": chart.linear(0, 10)}}
    return Chart("a title", **axes | {"series": series, "x_label": "x & y", "y_label": "loss", **changes})


def test_all_marks_are_drawn_within_the_frame() -> None:
    svg = svg_chart.draw(example(), alone=True)
    ElementTree.fromstring(svg)
    assert svg == svg_chart.draw(example(), alone=True)
    assert "line &lt;a&gt;" in svg
    assert "nan" not in svg
    assert svg.count('class="interval"') == 1
    line = re.search(r'class="line"[^>]* stroke-dasharray="7 3" d="([^"]*)"', svg)
    assert line is not None
    assert line[1].count("M") == 2, "the gap interrupts the line"


def test_a_legend_stands_only_in_a_file_of_its_own() -> None:
    assert ">dots</text>" in svg_chart.draw(example(), alone=True)
    assert ">dots</text>" not in svg_chart.draw(example())


def test_a_chart_without_scales_is_its_title() -> None:
    svg = svg_chart.draw(Chart("nothing <to> draw"))
    ElementTree.fromstring(svg)
    assert "nothing &lt;to&gt; draw</text>" in svg


def test_a_long_label_is_wrapped_within_the_height_of_the_frame() -> None:
    label = "share of the attention on the most attended token of a text, in per cent"
    svg = svg_chart.draw(example(y_label=label))
    rows = re.findall(r'transform="rotate[^>]*>([^<]*)<', svg)
    assert " ".join(rows) == label
    assert len(rows) > 1


def test_a_label_that_would_overlap_is_left_out_and_a_name_has_its_lines() -> None:
    crowded = chart.Axis(0, 100, (10, 11, 90), labels=("ten times ten", "eleven", "ninety"))
    rows = chart.Axis(1.5, -0.5, (0, 1), labels=("one\ntwo", "three"))
    svg = svg_chart.draw(example(x=crowded, scales={"linear": rows}, texts=[Text("✗", 1, 1, tone="worse", bold=True)]))
    words = [text.text for text in ElementTree.fromstring(svg).iter("text")]
    assert words == ["ten times ten", "ninety", "one", "two", "three", "x & y", "loss", "✗"]


numbers = some.lists(some.floats(), max_size=30)


@settings(max_examples=60)
@given(numbers, numbers)
def test_any_numbers_make_a_well_formed_drawing(first: list[float], second: list[float]) -> None:
    curves = [
        Curve(name, [float(step) for step in range(1, len(values) + 1)], values)
        for name, values in (("a < b", first), ('"&', second))
    ]
    svg = svg_chart.draw(line_charts.curve_chart(curves))
    root = ElementTree.fromstring(svg)
    assert "nan" not in svg
    assert "inf" not in svg.replace("inf ", "")
    if "data-chart" in root.attrib:
        assert len(json.loads(root.attrib["data-chart"])["curves"]) == 2
