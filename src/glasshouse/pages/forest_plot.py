"""Forest plots as SVG strings: a line for each comparison, its effect with its interval, against its margin.

Comparisons have different units, so effects are drawn in margins, and positive effects support the claim. The band around
zero is one margin wide on each side: an effect inside it is too small to matter. Knows nothing of the page around a plot.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from glasshouse.pages.colours import DARK, LIGHT
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD

# Width of the whole drawing, and of the axis inside it.
WIDTH, AXIS = 520, 300
# Heights of a line of text, and of an interval with the space below it.
LINE, INTERVAL = 15, 27
SMALL_WIDTH, SMALL_ROW = 130, 9
# The axis reaches at least and at most this many margins to each side; longer intervals end in an arrow.
LEAST, MOST = 2.5, 8.0
# Characters of a line of text that surely fit.
LINE_LENGTH, HEADING_LENGTH = 78, 74
SYMBOLS = {UPHELD: "✓", REFUTED: "✗", TOO_SMALL: "≈", UNDECIDED: "?"}
TONES = {UPHELD: "better", REFUTED: "worse", TOO_SMALL: "ochre", UNDECIDED: "soft"}


def _style(colours: Mapping[str, str]) -> str:
    tones = "".join(f".{tone}{{stroke:{colours[tone]};fill:{colours[tone]}}}" for tone in TONES.values())
    return f"text{{fill:{colours['ink']}}}{tones}text.soft{{fill:{colours['soft']};stroke:none}}"


STYLE = (
    f"<style>text{{font:12px system-ui,sans-serif}}.heading{{font-weight:600}}text.soft{{font-size:11px}}"
    f".band{{fill:{LIGHT['quiet']};fill-opacity:.22}}.line{{stroke-width:2}}{_style(LIGHT)}"
    f"@media(prefers-color-scheme:dark){{{_style(DARK)}}}</style>"
)


@dataclass(frozen=True)
class ForestRow:
    """One comparison: its effect in margins, with the sign of the claim; NaN if there is none."""

    name: str
    outcome: str
    mean: float
    low: float
    high: float
    text: str  # the effect in its own unit
    setting: str = ""


def forest_plot(rows: Sequence[ForestRow], title: str) -> str:
    """The plot with the names and the effects of all rows."""
    limit, top, setting = _limit(rows), 0, ""
    body = []
    for row in rows:
        if row.setting != setting:
            setting = row.setting
            top += LINE // 2 if top else 0
            for line in textwrap.wrap(setting, HEADING_LENGTH):
                top += LINE
                body.append(f'<text class="heading" x="2" y="{top}">{escape(line)}</text>')
        for line in textwrap.wrap(f"{SYMBOLS.get(row.outcome, '?')} {row.name}", LINE_LENGTH, subsequent_indent="\u2003"):
            top += LINE
            body.append(f'<text x="2" y="{top}">{escape(line)}</text>')
        body.append(_band(limit, top + 6, 16, AXIS))
        body.append(_interval(row, limit, top + 14, AXIS, 4.0))
        body.append(f'<text class="soft" x="{AXIS + 10}" y="{top + 18}">{escape(row.text)}</text>')
        top += INTERVAL
    height = top + 34
    axis = height - 18
    for value, label in ((-limit, f"−{limit:g}"), (-1, "−1"), (0, "0"), (1, "1"), (limit, f"{limit:g}")):
        anchor = "start" if value == -limit else "end" if value == limit else "middle"
        body.append(f'<text class="soft" x="{_x(value, limit):.1f}" y="{axis}" text-anchor="{anchor}">{label}</text>')
    body.append(
        f'<text class="soft" x="{AXIS / 2}" y="{axis + 14}" text-anchor="middle">'
        "← against the claim · in margins · for it →</text>"
    )
    return _svg(WIDTH, height, title, body)


def small_forest_plot(rows: Sequence[ForestRow], title: str) -> str:
    """The plot without texts, for a table."""
    limit = _limit(rows)
    height = max(SMALL_ROW * len(rows), SMALL_ROW)
    body = [_band(limit, 0, height, SMALL_WIDTH)]
    body += [_interval(row, limit, index * SMALL_ROW + SMALL_ROW / 2, SMALL_WIDTH, 2.5) for index, row in enumerate(rows)]
    return _svg(SMALL_WIDTH, height, title, body)


def _limit(rows: Sequence[ForestRow]) -> float:
    ends = [abs(end) for row in rows for end in (row.low, row.high, row.mean) if math.isfinite(end)]
    return min(max([LEAST, *(math.ceil(end) for end in ends)]), MOST)


def _x(value: float, limit: float, width: float = AXIS) -> float:
    return (min(max(value, -limit), limit) / limit + 1) / 2 * width


def _band(limit: float, top: float, height: float, width: float) -> str:
    """The band of differences too small to matter, and the line of no difference."""
    left, zero, right = (_x(value, limit, width) for value in (-1, 0, 1))
    return (
        f'<rect class="band" x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{height}"/>'
        f'<line class="soft" x1="{zero:.1f}" y1="{top}" x2="{zero:.1f}" y2="{top + height}"/>'
    )


def _interval(row: ForestRow, limit: float, y: float, width: float, radius: float) -> str:
    """The interval as a line with a dot at the mean; ends beyond the axis have an arrow."""
    if not math.isfinite(row.mean):
        return ""
    tone = TONES[row.outcome]
    parts = []
    if math.isfinite(row.low) and math.isfinite(row.high):
        left, right = _x(row.low, limit, width), _x(row.high, limit, width)
        parts.append(f'<line class="line {tone}" x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>')
        for end, x, side in ((row.low, left, 1), (row.high, right, -1)):
            if abs(end) > limit and (end < 0) == (side > 0):
                base = x + side * 2 * radius
                tip = f"{x:.1f},{y:.1f} {base:.1f},{y - radius:.1f} {base:.1f},{y + radius:.1f}"
                parts.append(f'<polygon class="{tone}" points="{tip}"/>')
    if abs(row.mean) <= limit:
        x = _x(row.mean, limit, width)
        parts.append(f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')
    return "".join(parts)


def _svg(width: float, height: float, title: str, body: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">'
    return f"{head}{STYLE}{''.join(body)}</svg>\n"
