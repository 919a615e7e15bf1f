"""The pictures of a claim, drawn from its deciding trial."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from glasshouse.pages import svg_chart
from glasshouse.pages.chart import Chart, Dots
from glasshouse.pages.claim_pictures import forest_plot, pictures, small_forest_plot
from glasshouse.results.claim import GraphEdge, GraphFigure, GraphNode, Part, PartResult, Quantity
from tests.pages.example_claims import example_case


def test_a_claim_has_its_forest_plots_and_figures():
    case = example_case()
    svgs = pictures(case)
    assert list(svgs) == ["comparisons", "small", "beside", "by-size", "curves"]
    for svg in svgs.values():
        ET.fromstring(svg)
    assert "above one half" in svgs["beside"]
    assert "above one half" not in svgs["comparisons"]
    assert "no text differs" not in svgs["comparisons"], "an exact part has no interval"
    assert svgs["small"].count('<g class="curve') >= 2
    assert pictures(replace(case, trials=())) == {}


def test_a_computation_graph_is_a_picture_among_the_others():
    case = example_case()
    graph = GraphFigure("graph", (GraphNode("h_0", 0, 0), GraphNode("h_1", 1, 0)), (GraphEdge("h_0", "h_1", "W"),))
    svgs = pictures(replace(case, figures=(graph, *case.figures)))
    assert list(svgs) == ["comparisons", "small", "beside", "graph", "by-size", "curves"]
    assert svgs["graph"].count("<circle") == 2


QUANTITIES = {"loss": Quantity("loss", "test.loss")}


def result(name: str, outcome: str, mean: float, low: float, high: float, setting: str = "") -> PartResult:
    """A judged comparison whose margin is 1."""
    part = Part(name, "superiority", "loss", margin=1.0, setting=setting)
    return PartResult(part, outcome, mean, low, high, 0.01, 8)


def dots(plot: Chart) -> list[tuple[str, float]]:
    return [(mark.shape, mark.x[0]) for group in plot.series for mark in group.marks if isinstance(mark, Dots)]


@pytest.mark.parametrize("mean", [0.0, 2.0, -2.0])
def test_an_effect_is_drawn_in_margins(mean):
    doubled = replace(result("a <b>", "upheld", 2 * mean, 2 * mean, 2 * mean).part, margin=2.0)
    plot = forest_plot([replace(result("", "upheld", 2 * mean, 2 * mean, 2 * mean), part=doubled)], QUANTITIES, "title")
    svg = svg_chart.draw(plot, alone=True)
    ET.fromstring(svg)
    assert dots(plot) == [("dot", mean)]
    assert (plot.x.low, plot.x.high) == (-2.5, 2.5)
    assert "✓ a &lt;b&gt;" in svg


def test_an_interval_beyond_the_axis_ends_in_an_arrow_and_nothing_is_drawn_of_nothing():
    rows = [
        result("far", "refuted", -50.0, -60.0, -40.0),
        result("wide", "undecided", 0.0, -60.0, 60.0, "tuned"),
        result("nothing", "undecided", math.nan, math.nan, math.nan),
    ]
    for plot in (forest_plot(rows, QUANTITIES, "title"), small_forest_plot(rows, "title")):
        ET.fromstring(svg_chart.draw(plot, alone=True))
        assert sorted(dots(plot)) == [("dot", 0.0), ("left", -8.0), ("left", -8.0), ("right", 8.0)]


def test_a_setting_is_a_heading_and_long_names_are_wrapped():
    name = "the loss of a model at tuned learning rates is lower than that of a model without any positions"
    rows = [result(name, "upheld", 0.0, 0.0, 0.0, setting) for setting in ("reported", "reported", "tuned")]
    texts = [text for text in forest_plot(rows, QUANTITIES, "title").texts if text.x == 0]
    assert [text.text for text in texts if text.bold] == ["reported", "tuned"]
    names = [text.text for text in texts if not text.bold]
    assert " ".join(" ".join(names).split()) == " ".join([f"✓ {name}"] * 3)
    assert max(map(len, names)) < 80
    tops = [-text.up for text in texts]
    assert tops == sorted(tops)
    assert len(set(tops)) == len(tops)
