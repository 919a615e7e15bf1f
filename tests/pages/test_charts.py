"""Line charts and bars: what is drawn, what is left out and said to be, and that nothing a run can log breaks them."""

import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from glasshouse import formatting
from glasshouse.pages import axes, charts
from glasshouse.pages.curve_thinning import MOST_POINTS, thin
from glasshouse.pages.report_content import Curve
from tests.refusals import refused


def curve(values: list[float], name: str = "loss") -> Curve:
    return Curve(name, [float(step) for step in range(1, len(values) + 1)], values)


def drawn(svg: str) -> dict:
    return json.loads(ElementTree.fromstring(svg).attrib["data-chart"])


def test_both_scales_are_drawn_and_one_shows() -> None:
    root = ElementTree.fromstring(charts.lines((curve([100.0, 10.0, 1.0]),), log=True))
    display = {
        group.attrib["data-scale"]: group.attrib.get("display") for group in root.iter("g") if "data-scale" in group.attrib
    }
    assert display == {"linear": "none", "log": None}


def test_no_log_scale_at_or_below_zero() -> None:
    assert charts.has_log_scale((curve([2.0, 1.0]),))
    assert not charts.has_log_scale((curve([2.0, 0.0]),))
    assert list(drawn(charts.lines((curve([2.0, 0.0]),), log=True))["scales"]) == ["linear"]


def test_a_value_that_is_not_finite_is_a_gap_and_a_remark() -> None:
    broken = curve([3.0, 2.0, math.nan, math.inf, 1.0])
    assert drawn(charts.lines((broken,)))["curves"][0]["values"] == [3, 2, None, None, 1]
    root = ElementTree.fromstring(charts.lines((broken,)))
    line = next(path for path in root.iter("path") if path.attrib.get("class") == "line")
    assert line.attrib["d"].count("M") == 2
    assert charts.remarks((broken,)) == ["loss: 2 values are not finite (from step 3); the line has a gap there."]


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, -math.inf]])
def test_nothing_to_draw(values: list[float]) -> None:
    assert "nothing to draw" in charts.lines((curve(values),))
    assert charts.legend((curve(values),))[0].last == "–"


def test_one_point_is_a_dot() -> None:
    assert 'class="dots"' in charts.lines((curve([2.5]),))


def test_a_long_curve_keeps_its_extremes_ends_and_gaps() -> None:
    values = np.random.default_rng(0).normal(5, 1, 50_000)
    values[[31_234, 40_001]] = [90.0, -70.0]
    values[20_000] = np.nan
    steps, kept = thin(curve(values.tolist()))
    assert len(steps) <= MOST_POINTS
    assert (steps[0], steps[-1]) == (1, 50_000)
    assert {90.0, -70.0} <= set(kept)
    assert steps[np.isnan(kept)] == [20_001]
    assert len(charts.lines((curve(values.tolist()),))) < 100_000


def test_steps_are_put_in_order_and_must_match_values() -> None:
    steps, values = thin(Curve("loss", [3, 1, math.nan, 2], [30, 10, 0, 20]))
    assert steps.tolist() == [1, 2, 3]
    assert values.tolist() == [10, 20, 30]
    with refused("shapes-differ"):
        Curve("loss", [1, 2], [1])


anything = some.lists(some.floats(), max_size=30)


@settings(max_examples=60, deadline=None)
@given(anything, anything)
def test_any_numbers_make_a_well_formed_drawing(first: list[float], second: list[float]) -> None:
    for log in (False, True):
        svg = charts.lines((curve(first, "a < b"), curve(second, '"&')), log=log)
        ElementTree.fromstring(svg)
        assert "nan" not in svg
        assert "inf" not in svg.replace("inf ", "")


def test_ticks_are_round_and_written_short() -> None:
    assert axes.linear(0, 1).ticks == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert axes.logarithmic(45, 2000).ticks == (50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)
    assert axes.steps(1, 3).ticks == (1.0, 2.0, 3.0)
    assert [formatting.short_number(value) for value in (0, 0.25, 1500, 20_000, 3e-5, -2)] == [
        "0",
        "0.25",
        "1500",
        "20 K",
        "3×10⁻⁵",
        "−2",
    ]


def test_bars() -> None:
    svg = charts.bars((("embedding", 750), ("a <very> long name for a part of a model", 250), ("none", 0)))
    ElementTree.fromstring(svg)
    assert "75%" in svg
    assert "a &lt;very&gt; long nam" in svg
    ElementTree.fromstring(charts.bars(()))
