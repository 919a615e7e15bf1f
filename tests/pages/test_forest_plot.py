"""Forest plots: what is drawn where, and what cannot be drawn."""

import math
import re
import xml.etree.ElementTree as ET

import pytest

from glasshouse.pages.forest_plot import AXIS, ForestRow, forest_plot, small_forest_plot


def dot(svg: str) -> float:
    [x] = re.findall(r'<circle[^>]* cx="([-\d.]+)"', svg)
    return float(x)


@pytest.mark.parametrize(("mean", "place"), [(0.0, AXIS / 2), (3.0, AXIS), (-3.0, 0.0)])
def test_an_effect_is_drawn_in_margins(mean, place):
    svg = forest_plot([ForestRow("a <b>", "upheld", mean, mean, mean, "0.1 (0.0 to 0.2)")], "title")
    ET.fromstring(svg)
    assert dot(svg) == pytest.approx(place)
    assert "✓ a &lt;b&gt;" in svg
    assert "0.1 (0.0 to 0.2)" in svg


def test_an_interval_beyond_the_axis_ends_in_an_arrow_and_nothing_is_drawn_of_nothing():
    rows = [
        ForestRow("far", "refuted", -50.0, -60.0, -40.0, ""),
        ForestRow("wide", "undecided", 0.0, -60.0, 60.0, "", "tuned"),
        ForestRow("nothing", "undecided", math.nan, math.nan, math.nan, "not measured"),
    ]
    for svg in (forest_plot(rows, "title"), small_forest_plot(rows, "title")):
        ET.fromstring(svg)
        assert svg.count("<polygon") == 3
        assert svg.count("<circle") == 1
    ET.fromstring(small_forest_plot([], "none"))


def test_a_setting_is_a_heading_and_long_names_are_wrapped():
    name = "the loss of a model at tuned learning rates is lower than that of a model without any positions"
    rows = [ForestRow(name, "upheld", 0.0, 0.0, 0.0, "", setting) for setting in ("reported", "reported", "tuned")]
    lines = [
        (text.get("class"), text.text, float(text.get("y", 0)))
        for text in ET.fromstring(forest_plot(rows, "title"))
        if text.tag.endswith("text")
    ]
    assert [line for kind, line, _ in lines if kind == "heading"] == ["reported", "tuned"]
    names = [line for kind, line, _ in lines if kind is None]
    assert " ".join(" ".join(names).split()) == " ".join([f"✓ {name}"] * 3)
    assert max(map(len, names)) < 80
    tops = [y for kind, line, y in lines if kind in ("heading", None)]
    assert tops == sorted(tops)
    assert len(set(tops)) == len(tops)
