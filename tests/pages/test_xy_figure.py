"""Figures over two axes: well formed, the same bytes for the same numbers, within their frame."""

import math
import re
import xml.etree.ElementTree as ET

from glasshouse.pages.xy_figure import BOTTOM, HEIGHT, WIDTH, XYSeries, draw

SERIES = [
    XYSeries("line <a>", line=[(1, 1), (10, 5), (100, math.nan)], band=[(1, 0.5, 2), (10, 3, 8)]),
    XYSeries("points", points=[(2, 2), (50, 4)], bars=[(0.001, 1e9), (math.nan, math.nan)], hollow=True),
    XYSeries(points=[(3, 3)], vertical_bars=[(1, 9)]),
]


def test_all_shapes_are_drawn_within_the_frame():
    svg = draw(SERIES, "x & y", "loss")
    ET.fromstring(svg)
    assert svg == draw(SERIES, "x & y", "loss")
    assert svg.count("<polygon") == 1
    assert svg.count("<polyline") == 1
    assert svg.count("<circle") == 4  # three points and one in the legend
    assert "line &lt;a&gt;" in svg
    assert "nan" not in svg
    bars = re.findall(r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)" stroke="#\w+"/>', svg)
    assert len(bars) == 2
    assert all(float(x1) >= 0 and float(x2) <= WIDTH and float(y2) <= HEIGHT - BOTTOM for x1, _, x2, y2 in bars)


def test_values_that_are_not_positive_get_a_linear_axis():
    ET.fromstring(draw([XYSeries("a", points=[(-1, 0), (5, 3)])], "x", "y"))
    ET.fromstring(draw([], "x", "y"))
