"""The pictures of a claim, drawn from its deciding trial."""

import xml.etree.ElementTree as ET
from dataclasses import replace

from glasshouse.pages.claim_pictures import pictures
from glasshouse.results.claim import GraphEdge, GraphFigure, GraphNode
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
    assert svgs["small"].count("<circle") + svgs["small"].count("<polygon") >= 2
    assert pictures(replace(case, trials=())) == {}


def test_a_computation_graph_is_a_picture_among_the_others():
    case = example_case()
    graph = GraphFigure("graph", (GraphNode("h_0", 0, 0), GraphNode("h_1", 1, 0)), (GraphEdge("h_0", "h_1", "W"),))
    svgs = pictures(replace(case, figures=(graph, *case.figures)))
    assert list(svgs) == ["comparisons", "small", "beside", "graph", "by-size", "curves"]
    assert svgs["graph"].count("<circle") == 2
