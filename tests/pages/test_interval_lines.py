"""Line figures as SVG: well formed, the same bytes for the same numbers, and no point for a missing value."""

import math
import re
import xml.etree.ElementTree as ET

from glasshouse.pages.interval_lines import BOTTOM, HEIGHT, MOST_LETTERS, curves_figure, settings_figure


def test_means_with_intervals_are_drawn_at_equally_spaced_settings():
    lines = {"a <b>": {32: (1.0, 0.9, 1.1), 64: (2.0, math.nan, math.nan)}, "c": {64: (30.0, 20.0, 40.0)}}
    svg = settings_figure(lines, "width", "loss & co")
    ET.fromstring(svg)
    assert svg == settings_figure(lines, "width", "loss & co")
    assert svg.count("<circle") == 3
    assert "a &lt;b&gt;" in svg
    assert ">32<" in svg
    ET.fromstring(settings_figure({}, "width", "loss"))


def test_an_interval_that_reaches_zero_is_cut_on_a_logarithmic_scale():
    svg = settings_figure({"a": {512: (1.0, -2.0, 4.0), 2**20: (40.0, 39.0, 41.0)}}, "n", "ms")
    ET.fromstring(svg)
    assert ">1 M<" in svg
    assert ">10<" in svg
    assert ">20<" in svg
    places = [float(y) for y in re.findall(r' y[12]="([0-9.]+)"', svg)]
    assert len(places) > 4
    assert max(places) <= HEIGHT - BOTTOM


def test_curves_are_drawn_over_steps():
    svg = curves_figure({"one": [(0, 3.0), (100, 1.0)], "two": [(0, 2.0), (50, math.nan), (100, 1.5)]}, "step", "loss")
    ET.fromstring(svg)
    assert svg.count("<polyline") == 2
    assert "<circle" not in svg


def test_a_long_label_is_wrapped_within_the_height_of_the_plot():
    label = "share of the attention on the most attended token of a text, in per cent"
    svg = settings_figure({"a": {1.0: (1.0, 0.9, 1.1), 2.0: (2.0, 1.9, 2.1)}}, "layer", label)
    rows = re.findall(r'transform="rotate[^>]*>([^<]*)<', svg)
    assert " ".join(rows) == label
    assert all(len(row) <= MOST_LETTERS for row in rows)
