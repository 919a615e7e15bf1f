"""Draws a chart as SVG. Its text can be selected, and the style sheet of a page sets its colours and its font.

matplotlib draws no page: it fixes colours and fonts, and its SVG differs between versions. The attribute `data-chart` holds
the drawn numbers for charts.js.
"""

import json
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from html import escape

import numpy as np

from glasshouse.pages.chart import DASHES, Axis, Band, Chart, Dots, Interval, Line, Mark, MarkGroup, Numbers, Text
from glasshouse.pages.colours import DARK, LIGHT

# Outlines of shapes around a point, of radius r and diameter d.
SHAPES = {
    "ring": "m-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z",
    "cross": "m-{r} -{r}l{d} {d}m0 -{d}l-{d} {d}",
    "diamond": "m0 -{r}l{r} {r}l-{r} {r}l-{r} -{r}z",
    "square": "m-{r} -{r}h{d}v{d}h-{d}z",
    "up": "m0 -{r}l{r} {d}h-{d}z",
    "down": "m0 {r}l{r} -{d}h-{d}z",
    "left": "m-{r} 0l{d} -{r}v{d}z",
    "right": "m{r} 0l-{d} -{r}v{d}z",
}
HOLLOW = ("ring", "cross")
# Pixels of a character, a row of a turned label and a row of the legend, and how far marks may leave the frame.
CHARACTER, LABEL_ROW, LEGEND_ROW, EDGE = 7.2, 14, 18, 4
# The x and the y of points -> their coordinates in the drawing.
Places = Callable[..., list[str]]
# With longer names, the legend has one column.
LONGEST_IN_COLUMNS = 34
# The style of a chart that stands in a file of its own.
STYLE = (
    f"<style>text{{font:11px system-ui,sans-serif;fill:{LIGHT['soft']}}}"
    f".ink{{fill:{LIGHT['ink']}}}.bold{{font-weight:600}}"
    f".grid,.axis{{stroke:{LIGHT['quiet']};stroke-opacity:.35}}.shape{{stroke:none}}"
    f"@media(prefers-color-scheme:dark){{text{{fill:{DARK['soft']}}}.ink{{fill:{DARK['ink']}}}}}</style>"
)


@dataclass(frozen=True)
class Frame:
    """The rectangle of the drawing that the marks fill."""

    left: float
    top: float
    right: float
    bottom: float

    def x(self, fraction: float) -> float:
        """The x coordinate at this fraction of the width, from the left."""
        return self.left + fraction * (self.right - self.left)

    def y(self, fraction: float) -> float:
        """The y coordinate at this fraction of the height, from the bottom."""
        return self.bottom - fraction * (self.bottom - self.top)

    def places(self, x_axis: Axis, y_axis: Axis, x: Numbers, y: Numbers, at_edge: bool = False) -> list[str]:
        """The coordinates of points; the empty string for a point without a place."""
        across, up = x_axis.fractions(x), y_axis.fractions(y)
        pairs = zip(across, np.clip(up, 0, 1) if at_edge else up, strict=True)
        return ["" if math.isnan(right + height) else f"{self.x(right):.1f} {self.y(height):.1f}" for right, height in pairs]


def draw(chart: Chart, alone: bool = False) -> str:
    """The SVG of a chart. One that stands `alone`, in a file, has a legend and its own style."""
    if not chart.scales:
        body = f'<text class="empty" x="{chart.width / 2}" y="48" text-anchor="middle">{escape(chart.title)}</text>'
        return _svg(chart, 90, body, alone)
    frame = _frame(chart)
    # A nested svg element clips the marks to the frame.
    x, y = frame.left - EDGE, frame.top - EDGE
    width, height = frame.right - frame.left + 2 * EDGE, frame.bottom - frame.top + 2 * EDGE
    box = f'width="{width:.1f}" height="{height:.1f}"'
    window = f'<svg x="{x:.1f}" y="{y:.1f}" {box} viewBox="{x:.1f} {y:.1f} {width:.1f} {height:.1f}">'
    body = _x_axis(chart, frame)
    for name, axis in chart.scales.items():
        hidden = "" if name == chart.shown else ' display="none"'
        places = partial(frame.places, chart.x, axis)
        marks = "".join(_series(series, places) for series in chart.series)
        body += f'<g data-scale="{name}"{hidden}>{_y_axis(axis, frame, chart.grid)}{window}{marks}</svg></g>'
    body += _labels(chart, frame) + "".join(_text(text, frame) for text in chart.texts)
    legend, rows = _legend(chart) if alone else ("", 0)
    data = f' data-chart="{escape(_data(chart, frame))}"' if chart.readable else ""
    return _svg(chart, chart.height + LEGEND_ROW * rows, body + legend, alone, data)


def _svg(chart: Chart, height: float, body: str, alone: bool, data: str = "") -> str:
    size = f'viewBox="0 0 {chart.width} {height:.0f}"'
    if alone:
        size = f'xmlns="http://www.w3.org/2000/svg" {size} width="{chart.width}" height="{height:.0f}"'
        body = f"{STYLE}{body}"
    end = "</svg>\n" if alone else "</svg>"
    return f'<svg class="chart" {size} role="img" aria-label="{escape(chart.title)}"{data}>{body}{end}'


def _frame(chart: Chart) -> Frame:
    lines = [line for axis in chart.scales.values() for label in axis.tick_labels for line in label.split("\n")]
    left = (max(30, CHARACTER * max(map(len, lines)) + 12) if lines else EDGE) + LABEL_ROW * len(_label_rows(chart))
    bottom = chart.height - (46 if chart.x_label else 30 if chart.x.ticks else EDGE)
    return Frame(left, (10 if lines else EDGE) + chart.above, chart.width - (8 if lines else EDGE) - chart.beside, bottom)


def _label_rows(chart: Chart) -> list[str]:
    """The lines of the label of the y axis, each within the height of the frame."""
    return textwrap.wrap(chart.y_label, max(1, int((chart.height - 56) / 5.5)))


def _x_axis(chart: Chart, frame: Frame) -> str:
    """The x axis: grid lines, or a line below the frame with ticks; a label that would overlap the last one is left out."""
    gridded, end = "x" in chart.grid, -math.inf
    body = "" if gridded else f'<path class="axis" d="M{frame.left:.1f} {frame.bottom:.1f}H{frame.right:.1f}"/>'
    for tick, label in zip(chart.x.ticks, chart.x.tick_labels, strict=True):
        x = frame.x(chart.x.fraction(tick))
        line = f"M{x:.1f} {frame.top:.1f}V{frame.bottom:.1f}" if gridded else f"M{x:.1f} {frame.bottom:.1f}v4"
        body += f'<path class="{"grid" if gridded else "axis"}" d="{line}"/>'
        # A centred label at an edge of the drawing would leave it.
        anchor = "end" if x > frame.right - 14 else "start" if x < 14 else "middle"
        length = 5.8 * len(label)
        start = x - {"start": 0, "middle": length / 2, "end": length}[anchor]
        if start >= end:
            body += f'<text x="{x:.1f}" y="{frame.bottom + 18:.1f}" text-anchor="{anchor}">{escape(label)}</text>'
            end = start + length + 4
    return body


def _y_axis(axis: Axis, frame: Frame, grid: str) -> str:
    """A label for each tick of the y axis, and a grid line. Labels that are names are larger."""
    body, kind = "", ' class="name"' if axis.labels else ""
    for tick, label in zip(axis.ticks, axis.tick_labels, strict=True):
        y = frame.y(axis.fraction(tick))
        if "y" in grid:
            body += f'<path class="grid" d="M{frame.left:.1f} {y:.1f}H{frame.right:.1f}"/>'
        lines = label.split("\n")
        for index, line in enumerate(lines):
            line_y = y + 4 + (index - (len(lines) - 1) / 2) * 13
            body += f'<text{kind} x="{frame.left - 8:.1f}" y="{line_y:.1f}" text-anchor="end">{escape(line)}</text>'
    return body


def _labels(chart: Chart, frame: Frame) -> str:
    body, middle = "", (frame.top + frame.bottom) / 2
    if chart.x_label:
        x = min((frame.left + frame.right) / 2, chart.width - 3 * len(chart.x_label))
        body += f'<text x="{x:.1f}" y="{chart.height - 8}" text-anchor="middle">{escape(chart.x_label)}</text>'
    for index, row in enumerate(_label_rows(chart)):
        x = 12 + LABEL_ROW * index
        turned = f'transform="rotate(-90 {x} {middle:.1f})"'
        body += f'<text x="{x}" y="{middle:.1f}" text-anchor="middle" {turned}>{escape(row)}</text>'
    return body


def _text(text: Text, frame: Frame) -> str:
    x, y = frame.x(text.x) + text.right, frame.y(text.y) - text.up + 4
    kind = f"toned {text.tone}" + (" bold" if text.bold else "")
    return (
        f'<text class="{kind}" fill="{LIGHT[text.tone]}" x="{x:.1f}" y="{y:.1f}" text-anchor="{text.anchor}">'
        f"{escape(text.text)}</text>"
    )


def _series(series: MarkGroup, places: Places) -> str:
    body = f"<title>{escape(series.about)}</title>" if series.about else ""
    body += "".join(_mark(mark, places, series.dash) for mark in series.marks)
    index = "" if series.curve is None else f' data-curve="{series.curve}"'
    colour = LIGHT[series.tone]
    return f'<g class="curve {series.tone}" fill="{colour}" stroke="{colour}"{index}>{body}</g>'


def _mark(mark: Mark, places: Places, dash: int) -> str:
    match mark:
        case Line():
            return _line(mark, places(mark.x, mark.y), dash)
        case Dots():
            return _dots(mark, places(mark.x, mark.y, mark.at_edge))
        case Interval():
            ends, at = (mark.low, mark.high), (mark.at, mark.at)
            start, end = places(ends, at) if mark.across else places(at, ends)
            cap = f"m0 -{mark.cap}v{2 * mark.cap}" if mark.across else f"m-{mark.cap} 0h{2 * mark.cap}"
            path = f"M{start}{cap}M{start}L{end}{cap}" if start and end else ""
            return f'<path class="interval" fill="none" stroke-width="{mark.width}" d="{path}"/>' if path else ""
        case Band():
            upper, lower = places(mark.x, mark.high), places(mark.x, mark.low)
            corners = "L".join(filter(None, [*upper, *reversed(lower)]))
            return f'<path class="band" stroke="none" fill-opacity="{mark.opacity}" d="M{corners}z"/>' if corners else ""


def _line(mark: Line, places: list[str], dash: int) -> str:
    """A path that gaps interrupt, and a dot at each point without neighbours."""
    before, after = ["", *places][: len(places)], [*places, ""][1:]
    path = "".join(f"{'L' if last else 'M'}{place}" for last, place in zip(before, places, strict=True) if place)
    alone = [place for last, place, following in zip(before, places, after, strict=True) if place and not last + following]
    faint = f' stroke-opacity="{mark.opacity}"' if mark.opacity < 1 else ""
    dashed = f' stroke-dasharray="{" ".join(map(str, DASHES[dash]))}"' if dash else ""
    body = f'<path class="line" fill="none" stroke-width="{mark.width}"{faint}{dashed} d="{path}"/>'
    return body + (_dots(Dots((), (), size=3 * mark.width, opacity=mark.opacity), alone) if alone else "")


def _dots(mark: Dots, places: list[str]) -> str:
    shown = [place for place in places if place]
    faint = f' opacity="{mark.opacity}"' if mark.opacity < 1 else ""
    if mark.shape == "dot":
        # A line of zero length with round ends is a dot.
        path = "".join(f"M{place}h0" for place in shown)
        return f'<path class="dots" fill="none" stroke-linecap="round" stroke-width="{mark.size}"{faint} d="{path}"/>'
    outline = SHAPES[mark.shape].format(r=mark.size / 2, d=mark.size)
    paint = 'fill="none" stroke-width="1.6"' if mark.shape in HOLLOW else f'class="shape" stroke="{LIGHT["paper"]}"'
    return f'<path {paint}{faint} d="{"".join(f"M{place}{outline}" for place in shown)}"/>'


def _legend(chart: Chart) -> tuple[str, int]:
    """The named series below the chart, and the number of rows that they need."""
    named = [series for series in chart.series if series.name]
    columns = 1 if any(len(series.name) > LONGEST_IN_COLUMNS for series in named) else 2
    body = ""
    for place, series in enumerate(named):
        x = 12 + place % columns * chart.width / 2
        y = chart.height + LEGEND_ROW * (place // columns) + 4
        sample = _sample(series, x, y)
        colour = LIGHT[series.tone]
        body += f'<g class="curve {series.tone}" fill="{colour}" stroke="{colour}">{sample}</g>'
        body += f'<text x="{x + 32:.0f}" y="{y + 4}">{escape(series.name)}</text>'
    return body, -(-len(named) // columns)


def _sample(series: MarkGroup, x: float, y: float) -> str:
    """How a series looks: a piece of its line, and one of its dots."""
    body = ""
    if any(isinstance(mark, Line | Band) for mark in series.marks):
        body += _line(Line((), ()), [f"{x:.0f} {y}", f"{x + 24:.0f} {y}"], series.dash)
    for mark in [mark for mark in series.marks if isinstance(mark, Dots)][:1]:
        body += _dots(mark, [f"{x + 12:.0f} {y}"])
    return body


def _data(chart: Chart, frame: Frame) -> str:
    """The drawn numbers as JSON; charts.js reads these keys."""
    curves = [
        {
            "name": series.name,
            "tone": series.classes,
            "steps": rounded(mark.x, digits=12),
            "values": rounded(mark.y),
        }
        for series in chart.series
        for mark in series.marks
        if series.name and isinstance(mark, Line)
    ]
    data = {
        "frame": [round(edge, 1) for edge in (frame.left, frame.top, frame.right, frame.bottom)],
        "across": [chart.x.low, chart.x.high],
        "scales": {name: [axis.low, axis.high] for name, axis in chart.scales.items()},
        "shown": chart.shown,
        "curves": curves,
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def rounded(numbers: Numbers, digits: int = 5) -> list[float | int | None]:
    """Round to significant digits and write whole numbers as integers, which halves the size of the JSON; NaN is None."""
    short = [None if np.isnan(number) else float(f"{number:.{digits}g}") for number in numbers]
    return [
        int(number) if number is not None and abs(number) < 1e15 and number == int(number) else number for number in short
    ]
