"""Figures of points, lines and bands over two axes, as SVG strings. The same numbers give the same bytes.

matplotlib is not used, because its SVG differs between versions. Knows nothing of the page around a figure.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from glasshouse.formatting import short_number
from glasshouse.pages import axes
from glasshouse.pages.interval_lines import COLOURS, LEGEND_ROW, STYLE

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 14, 46
LEGEND_COLUMNS = 2
Place = tuple[float, float]


@dataclass(frozen=True)
class XYSeries:
    """Points, a line, or both, in one colour.

    band: x, low and high of the edges of a band. bars: an x interval (low, high) for each point. hollow: points that do not
    count. A series without a name is not in the legend.
    """

    name: str = ""
    points: Sequence[Place] = ()
    line: Sequence[Place] = ()
    band: Sequence[tuple[float, float, float]] = ()
    bars: Sequence[tuple[float, float]] = ()
    vertical_bars: Sequence[tuple[float, float]] = ()
    hollow: bool = False
    dashed: bool = False
    colour: int | None = None


def draw(series: Sequence[XYSeries], x_label: str, y_label: str, log_x: bool = True, log_y: bool = True) -> str:
    """The figure of all series. Axes show all points, lines and bands; bars may be cut."""
    places = [place for each in series for place in (*each.points, *each.line, *_band_edges(each))]
    xs, ys = [x for x, _ in places if math.isfinite(x)], [y for _, y in places if math.isfinite(y)]
    horizontal = _axis(xs, log_x)
    vertical = _axis(ys, log_y)
    named = [(index, each) for index, each in enumerate(series) if each.name]
    height = HEIGHT + LEGEND_ROW * -(-len(named) // LEGEND_COLUMNS)
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x_of(value: float) -> float:
        return LEFT + min(max(horizontal.fraction(value), 0.0), 1.0) * (right - LEFT)

    def y_of(value: float) -> float:
        return bottom - min(max(vertical.fraction(value), 0.0), 1.0) * (bottom - TOP)

    body = []
    for tick in vertical.ticks:
        y = y_of(tick)
        body.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        body.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(short_number(tick))}</text>')
    for tick in horizontal.ticks:
        x = x_of(tick)
        body.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        body.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{escape(short_number(tick))}</text>')
    body.append(f'<text x="{(LEFT + right) / 2:.1f}" y="{bottom + 34}" text-anchor="middle">{escape(x_label)}</text>')
    middle = (TOP + bottom) / 2
    turned = f'text-anchor="middle" transform="rotate(-90 12 {middle:.1f})"'
    body.append(f'<text x="12" y="{middle:.1f}" {turned}>{escape(y_label)}</text>')
    for index, each in enumerate(series):
        body += _shapes(each, _colour(each, index), x_of, y_of)
    for place, (index, each) in enumerate(named):
        x = LEFT + (place % LEGEND_COLUMNS) * (right - LEFT) / LEGEND_COLUMNS
        y = HEIGHT + LEGEND_ROW * (place // LEGEND_COLUMNS) + 4
        colour = _colour(each, index)
        if each.line or each.band:
            body.append(f'<line x1="{x:.0f}" y1="{y}" x2="{x + 22:.0f}" y2="{y}" {_stroke(each, colour)}/>')
        else:
            body.append(_circle(x + 11, y, colour, each.hollow))
        body.append(f'<text x="{x + 30:.0f}" y="{y + 4}">{escape(each.name)}</text>')
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    title = escape(f"{y_label} over {x_label}")
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">{STYLE}{"".join(body)}</svg>\n'


def _axis(values: Sequence[float], logarithmic: bool) -> axes.Axis:
    if logarithmic and values and min(values) > 0:
        return axes.logarithmic(min(values), max(values))
    return axes.linear(min(values, default=0.0), max(values, default=1.0))


def _band_edges(series: XYSeries) -> Iterator[Place]:
    for x, low, high in series.band:
        yield x, low
        yield x, high


def _colour(series: XYSeries, index: int) -> str:
    return COLOURS[(index if series.colour is None else series.colour) % len(COLOURS)]


def _stroke(series: XYSeries, colour: str) -> str:
    return f'stroke="{colour}" fill="none" stroke-width="1.8"' + (' stroke-dasharray="5 4"' if series.dashed else "")


def _circle(x: float, y: float, colour: str, hollow: bool) -> str:
    paint = f'fill="none" stroke="{colour}" stroke-width="1.4"' if hollow else f'fill="{colour}"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" {paint}/>'


def _bar(start: Place, end: Place, colour: str) -> str:
    x1, y1, x2, y2 = (f"{value:.1f}" for value in (*start, *end))
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>'


def _shapes(series: XYSeries, colour: str, x_of: axes.Scale, y_of: axes.Scale) -> Iterator[str]:
    if series.band:
        upper = [f"{x_of(x):.1f},{y_of(high):.1f}" for x, _, high in series.band]
        lower = [f"{x_of(x):.1f},{y_of(low):.1f}" for x, low, _ in reversed(series.band)]
        yield f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity=".16"/>'
    if series.line:
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in series.line if math.isfinite(y))
        yield f'<polyline points="{path}" {_stroke(series, colour)}/>'
    for (_, y), (low, high) in zip(series.points, series.bars, strict=False):
        if math.isfinite(low) and math.isfinite(high):
            yield _bar((x_of(low), y_of(y)), (x_of(high), y_of(y)), colour)
    for (x, _), (low, high) in zip(series.points, series.vertical_bars, strict=False):
        if math.isfinite(low) and math.isfinite(high):
            yield _bar((x_of(x), y_of(low)), (x_of(x), y_of(high)), colour)
    for x, y in series.points:
        if math.isfinite(x) and math.isfinite(y):
            yield _circle(x_of(x), y_of(y), colour, series.hollow)
