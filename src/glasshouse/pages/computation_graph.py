"""Computation graphs as SVG strings: values in circles, forward arrows solid, gradients dashed. Knows no claim.

Arrows are drawn to the right of the line between two nodes, so that a gradient does not hide the arrow that it follows back.
"""

import math
import re
from collections.abc import Mapping
from html import escape

from glasshouse.pages.colours import DARK, FIGURE_TONES, LIGHT
from glasshouse.results.claim import GraphEdge, GraphFigure

# Pixels: between columns and rows of nodes, the margin around them, and the radius of a node.
COLUMN, ROW, MARGIN, RADIUS = 90, 74, 44, 17
# Distance of an arrow from the line between its nodes, of a label from the arrow, and the size of an arrow's head.
BESIDE, LABEL, HEAD = 5, 5, 6
LINE = 16


def _style(colours: Mapping[str, str]) -> str:
    ink, soft, raised, paper, ochre = (colours[role] for role in ("ink", "soft", "raised", "paper", "ochre"))
    return (
        f"text{{fill:{ink}}}.soft{{fill:{soft}}}circle{{fill:{raised};stroke:{soft}}}.input{{fill:{paper}}}"
        f".loss{{fill:{colours['marked']};stroke:{ochre}}}.plain{{stroke:{soft};fill:{soft}}}"
    )


STYLE = (
    "<style>text{font:12px system-ui,sans-serif}.below{font-size:8.5px}.soft{font-size:11.5px}circle{stroke-width:1.3}"
    f"{_style(LIGHT)}.arrow{{fill:none;stroke-width:1.5}}@media(prefers-color-scheme:dark){{{_style(DARK)}}}</style>"
)
Place = tuple[float, float]


def draw(figure: GraphFigure) -> str:
    columns, rows = (max(places) for places in zip(*((node.column, node.row) for node in figure.nodes), strict=True))
    height = 2 * MARGIN + rows * ROW
    places = {node.name: (MARGIN + node.column * COLUMN, height - MARGIN - node.row * ROW) for node in figure.nodes}
    shared = list(dict.fromkeys(edge.shared for edge in figure.edges if edge.shared))
    colours = {name: LIGHT[FIGURE_TONES[index % len(FIGURE_TONES)]] for index, name in enumerate(shared)}
    body = [_arrow(edge, places[edge.source], places[edge.target], colours.get(edge.shared, "")) for edge in figure.edges]
    for node in figure.nodes:
        x, y = places[node.name]
        body.append(f'<circle class="{node.kind}" cx="{x}" cy="{y}" r="{RADIUS}"/>')
        body.append(f'<text x="{x}" y="{y + 4}" text-anchor="middle">{marked_up(node.name)}</text>')
    for number, line in enumerate(figure.caption):
        body.append(f'<text class="soft" x="8" y="{height + LINE * (number + 1) - 8}">{marked_up(line)}</text>')
    width, height = 2 * MARGIN + columns * COLUMN, height + LINE * len(figure.caption)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    title = escape(f"computation graph of {figure.nodes[0].name} to {figure.nodes[-1].name}")
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">{STYLE}{"".join(body)}</svg>\n'


def marked_up(text: str) -> str:
    """The text as SVG, with subscripts after underscores: `W_hh` and `h_0`."""
    parts = re.split(r"_([A-Za-z0-9]+)", text)
    drawn = [escape(parts[0])]
    for subscript, rest in zip(parts[1::2], parts[2::2], strict=True):
        drawn.append(f'<tspan class="below" dy="3">{escape(subscript)}</tspan>')
        # The text after a subscript returns to the line. A zero-width space carries the shift if nothing follows.
        drawn.append(f'<tspan dy="-3">{escape(rest) or "&#8203;"}</tspan>')
    return "".join(drawn)


def _arrow(edge: GraphEdge, source: Place, target: Place, colour: str) -> str:
    """An arrow from the edge of one circle to that of the other, with its label on the outer side."""
    length = math.dist(source, target)
    along = ((target[0] - source[0]) / length, (target[1] - source[1]) / length)
    right = (-along[1], along[0])

    def at(distance: float, beside: float) -> Place:
        return tuple(begin + distance * go + beside * aside for begin, go, aside in zip(source, along, right, strict=True))  # type: ignore[return-value]

    begin, end = at(RADIUS, BESIDE), at(length - RADIUS, BESIDE)
    head = [end, at(length - RADIUS - HEAD, BESIDE - HEAD / 2), at(length - RADIUS - HEAD, BESIDE + HEAD / 2)]
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in head)
    tone = f'style="stroke:{colour};fill:{colour}"' if colour else ""
    line_tone = f'style="stroke:{colour}"' if colour else ""
    dash = ' stroke-dasharray="4 3"' if edge.backward else ""
    neck = at(length - RADIUS - HEAD, BESIDE)
    drawn = (
        f'<line class="arrow plain" {line_tone}{dash} x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{neck[0]:.1f}" '
        f'y2="{neck[1]:.1f}"/><polygon class="plain" {tone} points="{corners}"/>'
    )
    if not edge.label:
        return drawn
    x, y = at(length / 2, BESIDE + LABEL)
    # A label beside a vertical arrow begins or ends at it; one above or below a horizontal arrow is centred.
    anchor = "middle" if abs(right[1]) > 0.5 else "start" if right[0] > 0 else "end"
    y += 4 if anchor != "middle" else 9 if right[1] > 0 else -4
    text_tone = f'style="fill:{colour}"' if colour else ""
    return drawn + f'<text {text_tone} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{marked_up(edge.label)}</text>'
