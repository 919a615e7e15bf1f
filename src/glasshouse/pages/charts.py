"""Line charts and bar charts as SVG strings: their text can be selected, and a style sheet can change their colours.

matplotlib is not used here: it fixes colours and fonts in its SVG, so a page could not follow the reader's dark mode or font
size. The attribute `data-chart` holds the drawn numbers for a script. The module knows nothing of the page around a chart.
"""

import json
from dataclasses import dataclass
from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages import axes
from glasshouse.pages.curve_thinning import MOST_POINTS, sorted_points, thin
from glasshouse.results.report import Curve

# Colours by role. A single curve has the accent colour. With several curves, the first (training) is quiet and the second
# has the accent colour.
TONES = ("quiet", "accent", "ochre", "blue", "plum")
# The light colours of page.css, for image files and for an SVG without a style sheet. A test compares them.
LIGHT_COLOURS = {
    "quiet": "#93a199",
    "accent": "#1b7f5a",
    "ochre": "#b06f12",
    "blue": "#3d6ea8",
    "plum": "#8b4a7b",
}
# A curve with more points is drawn without dots.
MOST_MARKED_POINTS = 40
# A smaller value is a rounding error around zero and would stretch a logarithmic scale over many empty decades.
SMALLEST_ON_LOG_SCALE = 1e-30
MOST_NAME_CHARACTERS = 22


@dataclass(frozen=True)
class LegendEntry:
    """A curve's name, its colour and its last finite value as text."""

    name: str
    tone: str
    last: str


@dataclass(frozen=True)
class Frame:
    """The rectangle of a drawing that the curves fill."""

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


def line_chart(curves: tuple[Curve, ...], width: int = 460, height: int = 270, log: bool = False) -> str:
    """Draw curves over training steps.

    If every value is above zero, both a linear and a logarithmic scale are drawn; `log` chooses the one that is visible.
    """
    drawn = [thin(curve) for curve in curves]
    values = finite_values([values for _, values in drawn])
    steps = finite_values([steps for steps, _ in drawn])
    title = _title(curves)
    if not len(values):
        return (
            f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
            f'<text class="empty" x="{width / 2}" y="{height / 2}" text-anchor="middle">nothing to draw</text></svg>'
        )
    most = max(curve.most for curve in curves)
    scales = {"linear": axes.linear(values.min(), values.max(), most=most)}
    if allows_log_scale(values):
        scales["log"] = axes.logarithmic(values.min(), values.max(), most=most)
    visible = "log" if log and "log" in scales else "linear"

    labels = [formatting.short_number(tick) for axis in scales.values() for tick in axis.ticks]
    frame = Frame(left=max(30, 7.2 * max(map(len, labels)) + 12), top=10, right=width - 8, bottom=height - 30)
    x_axis = axes.steps(steps.min(), steps.max(), tick_count=5 if width > 400 else 3)
    body = draw_step_axis(x_axis, frame)
    for name, axis in scales.items():
        hidden = "" if name == visible else ' display="none"'
        paths = "".join(
            _curve_group(index, *points, x_axis, axis, frame, tone)
            for index, (points, tone) in enumerate(zip(drawn, tones(len(curves)), strict=True))
        )
        body += f'<g data-scale="{name}"{hidden}>{draw_value_axis(axis, frame)}{paths}</g>'
    # The keys of this object are read by charts.js.
    data = {
        "frame": [round(edge, 1) for edge in (frame.left, frame.top, frame.right, frame.bottom)],
        "across": [x_axis.low, x_axis.high],
        "scales": {name: [axis.low, axis.high] for name, axis in scales.items()},
        "shown": visible,
        "curves": [
            {"name": curve.name, "tone": tone, "steps": round_numbers(steps, digits=12), "values": round_numbers(values)}
            for curve, tone, (steps, values) in zip(curves, tones(len(curves)), drawn, strict=True)
        ],
    }
    packed = escape(json.dumps(data, separators=(",", ":"), allow_nan=False))
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{title}" data-chart="{packed}">'
        f"{body}</svg>"
    )


def has_log_scale(curves: tuple[Curve, ...]) -> bool:
    """Whether every value of these curves can be drawn on a logarithmic scale."""
    return allows_log_scale(finite_values([sorted_points(curve)[1] for curve in curves]))


def spans_decades(curves: tuple[Curve, ...], ratio: float = 20) -> bool:
    """Whether the values span a ratio so large that a linear scale would flatten most of a curve."""
    values = finite_values([sorted_points(curve)[1] for curve in curves])
    return allows_log_scale(values) and bool(values.max() / values.min() > ratio)


def legend(curves: tuple[Curve, ...]) -> list[LegendEntry]:
    """An entry for each curve, in order."""
    entries = []
    for curve, tone in zip(curves, tones(len(curves)), strict=True):
        values = finite_values([sorted_points(curve)[1]])
        last = _last_value(curve, values[-1]) if len(values) else formatting.MISSING
        entries.append(LegendEntry(curve.name, tone, last))
    return entries


def _last_value(curve: Curve, value: float) -> str:
    return formatting.formatted(value, curve.number_format) if curve.number_format else formatting.short_number(value)


def remarks(curves: tuple[Curve, ...]) -> list[str]:
    """Sentences about what the chart omits: values that are not finite, and points of a long curve."""
    sentences = []
    for curve in curves:
        steps, values = sorted_points(curve)
        gaps = np.isnan(values)
        if gaps.any():
            how_many = "one value is" if gaps.sum() == 1 else f"{gaps.sum():,} values are"
            first = f"{steps[int(np.argmax(gaps))]:,.10g}"
            sentences.append(f"{curve.name}: {how_many} not finite (from step {first}); the line has a gap there.")
        if len(values) > MOST_POINTS:
            sentences.append(f"{curve.name}: of {len(values):,} points, the minimum and maximum of each segment are drawn.")
    return sentences


def bar_chart(parts: tuple[tuple[str, int], ...], width: int = 460) -> str:
    """Draw a horizontal bar for each named count, with its share of the total."""
    row, name_width, value_width = 27, 150, 92
    total = sum(value for _, value in parts)
    largest = max((value for _, value in parts), default=0) or 1
    body = ""
    for index, (name, value) in enumerate(parts):
        middle = index * row + row / 2
        length = max(1.0, value / largest * (width - name_width - value_width)) if value > 0 else 0
        short_name = name if len(name) <= MOST_NAME_CHARACTERS else name[: MOST_NAME_CHARACTERS - 1] + "…"
        share = f"{value / total:.0%}" if value >= total / 200 else "<1%"
        body += (
            f"<g><title>{escape(name)}: {value:,}</title>"
            f'<text x="0" y="{middle + 4:.1f}">{escape(short_name)}</text>'
            f'<rect class="bar" fill="{LIGHT_COLOURS["accent"]}" x="{name_width}" y="{middle - 6:.1f}" '
            f'width="{length:.1f}" height="12" rx="1.5"/>'
            f'<text class="value" x="{name_width + length + 8:.1f}" y="{middle + 4:.1f}">{formatting.count(value)}'
            f'<tspan class="share" dx="6">{escape(share)}</tspan></text></g>'
        )
    return (
        f'<svg class="bars" viewBox="0 0 {width} {max(1, len(parts)) * row}" role="img" '
        f'aria-label="{escape(", ".join(f"{name} {formatting.count(value)}" for name, value in parts))}">{body}</svg>'
    )


def tones(how_many: int) -> list[str]:
    """A colour role for each of `how_many` curves."""
    if how_many == 1:
        return ["accent"]
    return [TONES[index % len(TONES)] for index in range(how_many)]


def allows_log_scale(values: np.ndarray) -> bool:
    """Whether these finite values (at least one) are all above zero."""
    return bool(len(values) and values.min() >= SMALLEST_ON_LOG_SCALE)


def finite_values(arrays: list[np.ndarray]) -> np.ndarray:
    """The finite values of several arrays, concatenated."""
    joined = np.concatenate([np.empty(0), *arrays])
    return joined[np.isfinite(joined)]


def draw_step_axis(axis: axes.Axis, frame: Frame) -> str:
    """SVG of the x axis: a line below the frame with ticks and labels."""
    body = f'<path class="axis" stroke="#b9c4bd" fill="none" d="M{frame.left:.1f} {frame.bottom:.1f}H{frame.right:.1f}"/>'
    for index, tick in enumerate(axis.ticks):
        x = frame.x(axis.fraction(tick))
        # A centred label at the right edge would leave the drawing.
        anchor = "end" if x > frame.right - 14 else "middle"
        body += (
            f'<path class="axis" stroke="#b9c4bd" d="M{x:.1f} {frame.bottom:.1f}v4"/>'
            f'<text x="{x:.1f}" y="{frame.bottom + 18:.1f}" text-anchor="{anchor}">'
            f"{'step ' if index == 0 else ''}{formatting.short_number(tick)}</text>"
        )
    return body


def draw_value_axis(axis: axes.Axis, frame: Frame) -> str:
    """SVG of the y axis: a grid line and a label for each tick."""
    body = ""
    for tick in axis.ticks:
        y = frame.y(axis.fraction(tick))
        body += (
            f'<path class="grid" stroke="#e3e9e5" d="M{frame.left:.1f} {y:.1f}H{frame.right:.1f}"/>'
            f'<text x="{frame.left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{formatting.short_number(tick)}</text>'
        )
    return body


def path_commands(
    steps: np.ndarray, values: np.ndarray, x_axis: axes.Axis, y_axis: axes.Axis, frame: Frame, every_dot: bool = False
) -> tuple[str, str]:
    """SVG path commands of a curve: for its line, which NaN interrupts, and for its dots.

    A point without neighbours gets a dot; with `every_dot`, every point does.
    """
    commands, dots, pen_down = [], [], False
    known = [None if np.isnan(value) else float(value) for value in values]
    for index, (step, value) in enumerate(zip(steps, known, strict=True)):
        if value is None:
            pen_down = False
            continue
        point = f"{frame.x(x_axis.fraction(float(step))):.1f} {frame.y(y_axis.fraction(value)):.1f}"
        commands.append(f"{'L' if pen_down else 'M'}{point}")
        isolated = not pen_down and (index + 1 == len(known) or known[index + 1] is None)
        if every_dot or isolated:
            # A line of zero length with round ends is a dot whose size the style sheet can set.
            dots.append(f"M{point}h0")
        pen_down = True
    return "".join(commands), "".join(dots)


def round_values(numbers: list[float], digits: int = 5) -> list[float | int | None]:
    """`round_numbers` of a list, whose values are finite."""
    return [
        int(rounded) if abs(rounded) < 1e15 and rounded == int(rounded) else rounded
        for rounded in (float(f"{number:.{digits}g}") for number in numbers)
    ]


def round_numbers(numbers: np.ndarray, digits: int = 5) -> list[float | int | None]:
    """Round to significant digits and write whole numbers as integers, which halves the size of the JSON; NaN is None."""
    rounded = [None if np.isnan(number) else float(f"{number:.{digits}g}") for number in numbers]
    return [
        int(number) if number is not None and abs(number) < 1e15 and number == int(number) else number for number in rounded
    ]


def _title(curves: tuple[Curve, ...]) -> str:
    ends = (f"{entry.name} ends at {entry.last}" for entry in legend(curves))
    return escape("Line chart over training steps: " + "; ".join(ends))


def _curve_group(
    index: int, steps: np.ndarray, values: np.ndarray, x_axis: axes.Axis, y_axis: axes.Axis, frame: Frame, tone: str
) -> str:
    """SVG of one curve: its line, and dots at isolated points, or at every point if there are few."""
    few = bool(np.isfinite(values).sum() <= MOST_MARKED_POINTS)
    line, dots = path_commands(steps, values, x_axis, y_axis, frame, every_dot=few)
    colour = LIGHT_COLOURS[tone]
    body = f'<path class="line" fill="none" stroke="{colour}" stroke-width="1.5" d="{line}"/>'
    if dots:
        body += f'<path class="dots" fill="none" stroke="{colour}" stroke-width="4.5" stroke-linecap="round" d="{dots}"/>'
    return f'<g class="curve {tone}" data-curve="{index}">{body}</g>'
