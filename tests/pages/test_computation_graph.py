"""Drawings of computation graphs."""

import xml.etree.ElementTree as ET
from itertools import pairwise

from glasshouse.pages import computation_graph
from glasshouse.results.claim import GraphEdge, GraphFigure, GraphNode

SVG = "{http://www.w3.org/2000/svg}"
FIGURE = GraphFigure(
    "graph",
    (GraphNode("x_1", 0, 0, "input"), GraphNode("a<b", 2, 0), GraphNode("J", 2, 1, "loss")),
    (
        GraphEdge("x_1", "a<b", "W_hx", "W"),
        GraphEdge("a<b", "J", "W_yh", "W"),
        GraphEdge("J", "a<b", "1", backward=True),
    ),
    ("Dashed: gradients.",),
)


def drawing():
    return ET.fromstring(computation_graph.draw(FIGURE))


def test_every_node_arrow_and_line_of_the_caption_is_drawn():
    root = drawing()
    assert len(root.findall(f"{SVG}circle")) == 3
    assert len(root.findall(f"{SVG}line")) == len(root.findall(f"{SVG}polygon")) == 3
    texts = ["".join(text.itertext()).strip("\u200b") for text in root.findall(f"{SVG}text")]
    assert texts == ["Whx", "Wyh", "1", "x1", "a<b", "J", "Dashed: gradients."]


def test_rows_count_upwards_and_columns_to_the_right():
    places = [(float(node.get("cx")), float(node.get("cy"))) for node in drawing().findall(f"{SVG}circle")]
    assert places[0][0] < places[1][0] == places[2][0]
    assert places[0][1] == places[1][1] > places[2][1]


def test_shared_weights_share_a_colour_and_gradients_are_dashed_beside_their_forward_arrow():
    lines = drawing().findall(f"{SVG}line")
    assert lines[0].get("style") == lines[1].get("style") != lines[2].get("style")
    assert [bool(line.get("stroke-dasharray")) for line in lines] == [False, False, True]
    forward, backward = (float(line.get("x1")) for line in lines[1:])
    assert forward > backward, "each on the right-hand side of its direction"
    assert float(lines[1].get("y1")) > float(lines[1].get("y2")), "upwards"
    assert float(lines[2].get("y1")) < float(lines[2].get("y2")), "downwards"


def test_everything_lies_within_the_drawing():
    root = drawing()
    width, height = float(root.get("width")), float(root.get("height"))
    for text in root.findall(f"{SVG}text"):
        assert 0 < float(text.get("x")) < width
        assert 0 < float(text.get("y")) < height


def test_subscripts_follow_underscores_and_the_line_returns():
    drawn = ET.fromstring(f"<text>{computation_graph.marked_up('W_hh and h_0')}</text>")
    assert "".join(drawn.itertext()) == "Whh and h0\u200b"
    shifts = [int(part.get("dy")) for part in drawn]
    assert shifts == [3, -3, 3, -3]
    assert all(first + second == 0 for first, second in pairwise(shifts))
    assert computation_graph.marked_up("a<b") == "a&lt;b"
