"""Line figures as SVG strings: means with intervals at several settings, or curves. The same numbers give the same bytes.

matplotlib is not used, because its SVG differs between versions, and committed figures are compared with what the program
draws again. Settings are spaced equally on the x axis, whatever their values. Knows nothing of the page around a figure.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from html import escape

from glasshouse.formatting import short_number
from glasshouse.pages import axes

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 46
# Letters in a line of the label of the y axis, and the height of a line.
MOST_LETTERS, LABEL_ROW = 38, 14
LEGEND_ROW = 18
COLOURS = ("#1b7f5a", "#b06f12", "#3d6ea8", "#8b4a7b", "#5f6d66", "#a8432f", "#2b8a9c", "#7a7a1f")
# Lines differ in dash as well as in colour.
DASHES = ("", "6 3", "2 3", "8 3 2 3")
STYLE = (
    "<style>text{font:11px system-ui,sans-serif;fill:#4d5b54}.grid{stroke:#93a199;stroke-opacity:.35}"
    "@media(prefers-color-scheme:dark){text{fill:#b9c6be}}</style>"
)
# A larger ratio of the largest value to the smallest mean gives a logarithmic scale.
LOG_SCALE_RATIO = 4
Point = tuple[float, float, float, float]  # x, mean, low, high


def settings_figure(lines: Mapping[str, Mapping[float, tuple[float, float, float]]], x_label: str, y_label: str) -> str:
    """Lines: name -> setting -> (mean, low, high). The ends of an interval are NaN if there is none."""
    settings = sorted({setting for line in lines.values() for setting in line})
    places = {setting: index for index, setting in enumerate(settings)}
    points = {
        name: [(float(places[setting]), *line[setting]) for setting in sorted(line)] for name, line in lines.items() if line
    }
    ticks = [(float(places[setting]), short_number(setting)) for setting in settings]
    return _draw(points, ticks, (-0.3, len(settings) - 0.7), x_label, y_label, marked=True)


def curves_figure(curves: Mapping[str, Sequence[tuple[float, float]]], x_label: str, y_label: str) -> str:
    """Curves: name -> (x, y) points."""
    points = {name: [(x, y, math.nan, math.nan) for x, y in curve] for name, curve in curves.items() if curve}
    last = max((point[0] for line in points.values() for point in line), default=1.0)
    scale = axes.linear(0.0, last)
    ticks = [(value, short_number(value)) for value in scale.ticks if value <= last]
    return _draw(points, ticks, (0.0, last), x_label, y_label, marked=False)


def _y_scale(lines: Mapping[str, Sequence[Point]]) -> axes.Axis:
    """Logarithmic if the means differ by a large ratio. Intervals that reach far below the lowest mean are cut."""
    means = [mean for line in lines.values() for _, mean, _, _ in line if math.isfinite(mean)]
    values = [number for line in lines.values() for _, *numbers in line for number in numbers if math.isfinite(number)]
    if not means or min(means) <= 0 or max(values) / min(means) <= LOG_SCALE_RATIO:
        return axes.linear(min(values, default=0.0), max(values, default=1.0))
    return axes.logarithmic(max(min(values), min(means) / LOG_SCALE_RATIO), max(values))


def _draw(
    lines: Mapping[str, Sequence[Point]],
    ticks: Sequence[tuple[float, str]],
    span: tuple[float, float],
    x_label: str,
    y_label: str,
    marked: bool,
) -> str:
    scale = _y_scale(lines)
    legend = len(lines) if len(lines) > 1 else 0
    height = HEIGHT + LEGEND_ROW * legend
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    # A long label of the y axis has several lines, and the plot begins further to the right.
    label_rows = textwrap.wrap(y_label, MOST_LETTERS) or [""]
    left = LEFT + LABEL_ROW * (len(label_rows) - 1)

    def x_of(value: float) -> float:
        return left + (value - span[0]) / max(span[1] - span[0], 1e-12) * (right - left)

    def y_of(value: float) -> float:
        return bottom - scale.fraction(max(value, scale.low)) * (bottom - TOP)

    body = []
    for tick in scale.ticks:
        y = y_of(tick)
        body.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        body.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(short_number(tick))}</text>')
    body += [f'<text x="{x_of(x):.1f}" y="{bottom + 16}" text-anchor="middle">{escape(text)}</text>' for x, text in ticks]
    body.append(f'<text x="{(left + right) / 2:.1f}" y="{bottom + 34}" text-anchor="middle">{escape(x_label)}</text>')
    for row, text in enumerate(label_rows):
        place = (12 + LABEL_ROW * row, (TOP + bottom) / 2)
        turn = "rotate(-90 {} {:.1f})".format(*place)
        where = 'x="{}" y="{:.1f}"'.format(*place)
        body.append(f'<text {where} text-anchor="middle" transform="{turn}">{escape(text)}</text>')
    for index, (name, line) in enumerate(lines.items()):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]
        style = f'stroke="{colour}" fill="none" stroke-width="1.8"' + (f' stroke-dasharray="{dash}"' if dash else "")
        finite = [point for point in line if math.isfinite(point[1])]
        path = " ".join(f"{x_of(x):.1f},{y_of(mean):.1f}" for x, mean, _, _ in finite)
        body.append(f'<polyline {style} points="{path}"/>')
        for x, mean, low, high in finite if marked else ():
            body.append(f'<circle cx="{x_of(x):.1f}" cy="{y_of(mean):.1f}" r="3.2" fill="{colour}"/>')
            if math.isfinite(low) and math.isfinite(high):
                body.append(
                    f'<line stroke="{colour}" x1="{x_of(x):.1f}" y1="{y_of(low):.1f}" x2="{x_of(x):.1f}" '
                    f'y2="{y_of(high):.1f}"/>'
                )
        if legend:
            y = HEIGHT + LEGEND_ROW * index + 4
            body.append(f'<line {style} x1="{left}" y1="{y}" x2="{left + 24}" y2="{y}"/>')
            body.append(f'<text x="{left + 32}" y="{y + 4}">{escape(name)}</text>')
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    title = escape(f"{y_label} over {x_label}")
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">{STYLE}{"".join(body)}</svg>\n'
