"""Line charts and bars as SVG strings: text that can be selected, colours that a page's stylesheet can change.

Not matplotlib: it fixes colours and fonts in its SVG, so a page could not follow the reader's dark mode or font size.
Knows nothing of the page around it; `data-chart` carries the drawn numbers for a script that wants them.
"""

import json
from dataclasses import dataclass
from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages import axes
from glasshouse.pages.curve_thinning import MOST_POINTS, drawable, thin
from glasshouse.pages.report_content import Curve

# One curve is the subject and takes the accent. Of several, the first (training) is the quiet ground for the second.
TONES = ("quiet", "accent", "ochre", "blue", "plum")
FALLBACK_COLOURS = {
    "quiet": "#84938b",
    "accent": "#1b7f5a",
    "ochre": "#b06f12",
    "blue": "#3d6ea8",
    "plum": "#8b4a7b",
}
MOST_MARKED_POINTS = 40
# Below this a value is a zero that rounding missed, and would stretch a logarithmic scale until nothing else shows.
SMALLEST_ON_LOG_SCALE = 1e-30
MOST_NAME_CHARACTERS = 22


@dataclass(frozen=True)
class LegendEntry:
    name: str
    tone: str
    last: str  # the last finite value, written


@dataclass(frozen=True)
class Frame:
    """The rectangle of a drawing that the curves fill."""

    left: float
    top: float
    right: float
    bottom: float

    def x(self, fraction: float) -> float:
        return self.left + fraction * (self.right - self.left)

    def y(self, fraction: float) -> float:
        return self.bottom - fraction * (self.bottom - self.top)


def lines(curves: tuple[Curve, ...], width: int = 460, height: int = 270, log: bool = False) -> str:
    """Curves over steps. Drawn on both scales where every value is above zero; `log` says which one shows first."""
    drawn = [thin(curve) for curve in curves]
    values = finite([values for _, values in drawn])
    steps = finite([steps for steps, _ in drawn])
    title = _title(curves)
    if not len(values):
        return (
            f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
            f'<text class="empty" x="{width / 2}" y="{height / 2}" text-anchor="middle">nothing to draw</text></svg>'
        )
    scales = {"linear": axes.linear(values.min(), values.max())}
    if allow_log(values):
        scales["log"] = axes.logarithmic(values.min(), values.max())
    shown = "log" if log and "log" in scales else "linear"

    labels = [formatting.short_number(tick) for axis in scales.values() for tick in axis.ticks]
    frame = Frame(left=max(30, 7.2 * max(map(len, labels)) + 12), top=10, right=width - 8, bottom=height - 30)
    across = axes.steps(steps.min(), steps.max(), about=5 if width > 400 else 3)
    body = step_axis(across, frame)
    for name, axis in scales.items():
        hidden = "" if name == shown else ' display="none"'
        paths = "".join(
            _path(index, *points, across, axis, frame, tone)
            for index, (points, tone) in enumerate(zip(drawn, tones(len(curves)), strict=True))
        )
        body += f'<g data-scale="{name}"{hidden}>{value_axis(axis, frame)}{paths}</g>'
    data = {
        "frame": [round(edge, 1) for edge in (frame.left, frame.top, frame.right, frame.bottom)],
        "across": [across.low, across.high],
        "scales": {name: [axis.low, axis.high] for name, axis in scales.items()},
        "shown": shown,
        "curves": [
            {"name": curve.name, "tone": tone, "steps": short(steps, digits=12), "values": short(values)}
            for curve, tone, (steps, values) in zip(curves, tones(len(curves)), drawn, strict=True)
        ],
    }
    packed = escape(json.dumps(data, separators=(",", ":"), allow_nan=False))
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{title}" data-chart="{packed}">'
        f"{body}</svg>"
    )


def has_log_scale(curves: tuple[Curve, ...]) -> bool:
    return allow_log(finite([drawable(curve)[1] for curve in curves]))


def spans_decades(curves: tuple[Curve, ...], ratio: float = 20) -> bool:
    """Whether a linear scale would press most of a curve flat against its floor."""
    values = finite([drawable(curve)[1] for curve in curves])
    return allow_log(values) and bool(values.max() / values.min() > ratio)


def legend(curves: tuple[Curve, ...]) -> list[LegendEntry]:
    entries = []
    for curve, tone in zip(curves, tones(len(curves)), strict=True):
        values = finite([drawable(curve)[1]])
        entries.append(LegendEntry(curve.name, tone, formatting.short_number(values[-1]) if len(values) else "–"))
    return entries


def remarks(curves: tuple[Curve, ...]) -> list[str]:
    """What the drawing leaves out: values that are not finite, and points between the extremes of a long curve."""
    found = []
    for curve in curves:
        steps, values = drawable(curve)
        gaps = np.isnan(values)
        if gaps.any():
            how_many = "one value is" if gaps.sum() == 1 else f"{gaps.sum():,} values are"
            place = f"{steps[int(np.argmax(gaps))]:,.10g}"
            found.append(f"{curve.name}: {how_many} not finite (from step {place}); the line has a gap there.")
        if len(values) > MOST_POINTS:
            found.append(f"{curve.name}: {len(values):,} points, drawn by the lowest and highest of each short stretch.")
    return found


def bars(parts: tuple[tuple[str, int], ...], width: int = 460) -> str:
    """Horizontal bars, one per named count, with its share of the whole."""
    row, name_width, value_width = 27, 150, 92
    total = sum(value for _, value in parts)
    largest = max((value for _, value in parts), default=0) or 1
    body = ""
    for index, (name, value) in enumerate(parts):
        middle = index * row + row / 2
        length = max(1.0, value / largest * (width - name_width - value_width)) if value > 0 else 0
        short = name if len(name) <= MOST_NAME_CHARACTERS else name[: MOST_NAME_CHARACTERS - 1] + "…"
        share = f"{value / total:.0%}" if value >= total / 200 else "<1%"
        body += (
            f"<g><title>{escape(name)}: {value:,}</title>"
            f'<text x="0" y="{middle + 4:.1f}">{escape(short)}</text>'
            f'<rect class="bar" fill="{FALLBACK_COLOURS["accent"]}" x="{name_width}" y="{middle - 6:.1f}" '
            f'width="{length:.1f}" height="12" rx="1.5"/>'
            f'<text class="value" x="{name_width + length + 8:.1f}" y="{middle + 4:.1f}">{formatting.count(value)}'
            f'<tspan class="share" dx="6">{escape(share)}</tspan></text></g>'
        )
    return (
        f'<svg class="bars" viewBox="0 0 {width} {max(1, len(parts)) * row}" role="img" '
        f'aria-label="{escape(", ".join(f"{name} {formatting.count(value)}" for name, value in parts))}">{body}</svg>'
    )


def tones(how_many: int) -> list[str]:
    if how_many == 1:
        return ["accent"]
    return [TONES[index % len(TONES)] for index in range(how_many)]


def _title(curves: tuple[Curve, ...]) -> str:
    ends = (f"{entry.name} ends at {entry.last}" for entry in legend(curves))
    return escape("Line chart over training steps: " + "; ".join(ends))


def allow_log(values: np.ndarray) -> bool:
    return bool(len(values) and values.min() >= SMALLEST_ON_LOG_SCALE)


def finite(arrays: list[np.ndarray]) -> np.ndarray:
    joined = np.concatenate([np.empty(0), *arrays])
    return joined[np.isfinite(joined)]


def step_axis(axis: axes.Axis, frame: Frame) -> str:
    body = f'<path class="axis" stroke="#b9c4bd" fill="none" d="M{frame.left:.1f} {frame.bottom:.1f}H{frame.right:.1f}"/>'
    for index, tick in enumerate(axis.ticks):
        x = frame.x(axis.fraction(tick))
        # The last label would run over the edge if it were centred.
        anchor = "end" if x > frame.right - 14 else "middle"
        body += (
            f'<path class="axis" stroke="#b9c4bd" d="M{x:.1f} {frame.bottom:.1f}v4"/>'
            f'<text x="{x:.1f}" y="{frame.bottom + 18:.1f}" text-anchor="{anchor}">'
            f"{'step ' if index == 0 else ''}{formatting.short_number(tick)}</text>"
        )
    return body


def value_axis(axis: axes.Axis, frame: Frame) -> str:
    body = ""
    for tick in axis.ticks:
        y = frame.y(axis.fraction(tick))
        body += (
            f'<path class="grid" stroke="#e3e9e5" d="M{frame.left:.1f} {y:.1f}H{frame.right:.1f}"/>'
            f'<text x="{frame.left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{formatting.short_number(tick)}</text>'
        )
    return body


def trace(
    steps: np.ndarray, values: np.ndarray, across: axes.Axis, up: axes.Axis, frame: Frame, every_dot: bool = False
) -> tuple[str, str]:
    """A curve as the commands of its line, one for every unbroken stretch, and of its dots: points alone, or every one."""
    commands, dots, pen_down = [], [], False
    known = [None if np.isnan(value) else float(value) for value in values]
    for place, (step, value) in enumerate(zip(steps, known, strict=True)):
        if value is None:
            pen_down = False
            continue
        point = f"{frame.x(across.fraction(float(step))):.1f} {frame.y(up.fraction(value)):.1f}"
        commands.append(f"{'L' if pen_down else 'M'}{point}")
        alone = not pen_down and (place + 1 == len(known) or known[place + 1] is None)
        if every_dot or alone:
            # A line of no length with round ends is a dot whose size the stylesheet can set.
            dots.append(f"M{point}h0")
        pen_down = True
    return "".join(commands), "".join(dots)


def _path(
    index: int, steps: np.ndarray, values: np.ndarray, across: axes.Axis, up: axes.Axis, frame: Frame, tone: str
) -> str:
    """One curve: a line, and dots where points stand alone or are few."""
    few = bool(np.isfinite(values).sum() <= MOST_MARKED_POINTS)
    line, dots = trace(steps, values, across, up, frame, every_dot=few)
    colour = FALLBACK_COLOURS[tone]
    body = f'<path class="line" fill="none" stroke="{colour}" stroke-width="1.5" d="{line}"/>'
    if dots:
        body += f'<path class="dots" fill="none" stroke="{colour}" stroke-width="4.5" stroke-linecap="round" d="{dots}"/>'
    return f'<g class="curve {tone}" data-curve="{index}">{body}</g>'


def short(numbers: np.ndarray, digits: int = 5) -> list[float | int | None]:
    """So many digits each, whole numbers without a point: what a reader sees, at half the size."""
    rounded = [None if np.isnan(number) else float(f"{number:.{digits}g}") for number in numbers]
    return [
        int(number) if number is not None and abs(number) < 1e15 and number == int(number) else number for number in rounded
    ]
