"""Charts of curves over training steps, and of means over settings. Knows nothing of how a chart is drawn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from glasshouse import formatting
from glasshouse.formatting import LARGEST_DRAWABLE
from glasshouse.pages import chart
from glasshouse.pages.chart import Axis, Chart, Dots, Interval, Line, Mark, MarkGroup, Text
from glasshouse.pages.colours import FIGURE_TONES, tones
from glasshouse.results.report import Curve

# A curve with more points is thinned, and one with more is drawn without dots.
MOST_POINTS, MOST_MARKED_POINTS = 1000, 40
# Values that span a larger ratio are shown on a logarithmic axis: of curves, and of means over settings.
LOG_RATIO, SETTINGS_LOG_RATIO = 20, 4
SHAPES = ("dot", "square", "diamond", "down", "up", "ring")
Estimate = tuple[float, float, float]  # mean, low, high


@dataclass(frozen=True)
class LegendEntry:
    """A curve's name, its classes in the style sheet and its last finite value. `full` is the name where it is shortened."""

    name: str
    classes: str
    last: str
    full: str = ""


@dataclass(frozen=True)
class Panel:
    """A chart with its legend, and remarks on what it omits. `heading` stands before the legend; it may be empty."""

    title: str
    chart: Chart
    legend: list[LegendEntry]
    remarks: list[str]
    heading: str = ""


def panel(title: str, curves: Sequence[Curve], small: bool = False) -> Panel:
    return Panel(title, curve_chart(curves, small), legend(curves), remarks(curves))


def curve_chart(curves: Sequence[Curve], small: bool = False) -> Chart:
    """Curves over training steps. If every value is above zero, there is a logarithmic scale too."""
    points = [thin(curve) for curve in curves]
    values, steps = chart.finite(values for _, values in points), chart.finite(steps for steps, _ in points)
    if not len(values):
        return Chart("nothing to draw")
    most = max(curve.most for curve in curves)
    scales = {"linear": chart.linear(values.min(), values.max(), most=most)}
    if chart.allows_log_axis(values):
        scales["log"] = chart.logarithmic(values.min(), values.max(), most=most)
    ends = "; ".join(f"{entry.name} ends at {entry.last}" for entry in legend(curves))
    return Chart(
        f"Line chart over training steps: {ends}",
        chart.steps(steps.min(), steps.max(), tick_count=3 if small else 5),
        scales,
        [
            MarkGroup(_curve_marks(*places, tone, small), curve.name, tone, curve=index)
            for index, (curve, places, tone) in enumerate(zip(curves, points, tones(len(curves)), strict=True))
        ],
        shown="log" if "log" in scales and not small and values.max() / values.min() > LOG_RATIO else "linear",
        readable=True,
        width=300 if small else 460,
        height=150 if small else 270,
    )


def _curve_marks(steps: np.ndarray, values: np.ndarray, tone: str, small: bool) -> list[Mark]:
    line = Line(steps, values, width=1.1 if small or tone == "quiet" else 1.7)
    return [line, Dots(steps, values)] if np.isfinite(values).sum() <= MOST_MARKED_POINTS else [line]


def legend(curves: Sequence[Curve]) -> list[LegendEntry]:
    entries = []
    for curve, tone in zip(curves, tones(len(curves)), strict=True):
        values = chart.finite([sorted_points(curve)[1]])
        last = formatting.MISSING
        if len(values):
            own = curve.number_format
            last = formatting.formatted(values[-1], own) if own else formatting.short_number(values[-1])
        entries.append(LegendEntry(curve.name, tone, last))
    return entries


def remarks(curves: Sequence[Curve]) -> list[str]:
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


def thin(curve: Curve, most: int = MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` steps and values, sorted by step; a value that is not finite becomes NaN.

    The minima, maxima, ends and gaps of the curve are kept.
    """
    steps, values = sorted_points(curve)
    if len(steps) <= most:
        return steps, values
    kept = [0, len(steps) - 1]
    # Each segment keeps up to three points: its minimum, its maximum and one value that is not finite.
    edges = np.linspace(0, len(steps), (most - 2) // 3 + 1).astype(int)
    for start, end in pairwise(edges):
        segment = values[start:end]
        gaps = np.isnan(segment)
        if gaps.any():
            kept.append(start + int(np.argmax(gaps)))
        if not gaps.all():
            kept += [start + int(np.nanargmin(segment)), start + int(np.nanargmax(segment))]
    order = np.unique(kept)
    return steps[order], values[order]


def sorted_points(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Steps and values as arrays, sorted by step; values that cannot be drawn are NaN.

    Points whose step is not finite are left out.
    """
    steps = np.asarray(curve.steps, dtype=float)
    values = np.asarray(curve.values, dtype=float)
    has_step = np.isfinite(steps)
    steps, values = steps[has_step], values[has_step]
    order = np.argsort(steps, kind="stable")
    steps, values = steps[order], values[order]
    with np.errstate(invalid="ignore"):
        return steps, np.where(np.abs(values) <= LARGEST_DRAWABLE, values, np.nan)


def settings_chart(lines: Mapping[str, Mapping[float, Estimate]], x_label: str, y_label: str) -> Chart:
    """Means with intervals: line -> setting -> (mean, low, high). The ends of an interval are NaN if there is none.

    Settings are spaced equally on the x axis, whatever their values.
    """
    settings = sorted({setting for line in lines.values() for setting in line})
    labels = tuple(map(formatting.short_number, settings))
    x_axis = Axis(-0.3, max(len(settings), 1) - 0.7, tuple(map(float, range(len(settings)))), labels=labels)
    y_axis = _axis_of_means([estimate for line in lines.values() for estimate in line.values()])
    series = []
    for index, (name, line) in enumerate(lines.items()):
        found = [(float(settings.index(setting)), *line[setting]) for setting in sorted(line)]
        found = [point for point in found if math.isfinite(point[1])]
        places, means = [point[0] for point in found], [point[1] for point in found]
        # An interval that reaches below a logarithmic axis is cut there.
        bars = [
            Interval(x, max(low, y_axis.low), high, cap=0, width=1)
            for x, _, low, high in found
            if math.isfinite(low) and math.isfinite(high)
        ]
        shape = SHAPES[index % len(SHAPES)]
        dots = Dots(places, means, size=6.4 if shape == "dot" else 8, shape=shape)
        series.append(_line(name if len(lines) > 1 else "", index, [Line(places, means), dots, *bars]))
    return Chart(
        f"{y_label} over {x_label}", x_axis, {"linear": y_axis}, series, (), x_label, y_label, width=520, height=300
    )


def with_baseline(settings: Chart, name: str, value: float) -> Chart:
    """The chart of shares with a named baseline as a dashed line, and an axis of percentages that begins at 0."""
    highest = 1.15 * max(
        value, *(mark.high for series in settings.series for mark in series.marks if isinstance(mark, Interval))
    )
    axis = chart.linear(0.0, min(1.0, highest), padding=0.0)
    axis = replace(axis, labels=tuple(f"{tick:.0%}" for tick in axis.ticks))
    ends = (settings.x.low, settings.x.high)
    rule = MarkGroup([Line(ends, (value, value), width=1.2)], tone="quiet", dash=1)
    label = Text(name, 1, axis.fraction(value), up=8, anchor="end")
    return replace(settings, scales={"linear": axis}, series=[rule, *settings.series], texts=[label])


def xy_chart(curves: Mapping[str, Sequence[tuple[float, float]]], x_label: str, y_label: str) -> Chart:
    series = []
    for index, (name, points) in enumerate(curves.items()):
        x, y = zip(*[point for point in points if math.isfinite(point[1])], strict=True)
        series.append(_line(name if len(curves) > 1 else "", index, [Line(x, y)]))
    last = max((x for points in curves.values() for x, _ in points), default=1.0)
    x_axis = chart.linear(0.0, last, padding=0.0)
    y_axis = _axis_of_means([(y, y, y) for points in curves.values() for _, y in points])
    return Chart(
        f"{y_label} over {x_label}", x_axis, {"linear": y_axis}, series, (), x_label, y_label, width=520, height=300
    )


def _line(name: str, index: int, marks: list[Mark]) -> MarkGroup:
    return MarkGroup(marks, name, FIGURE_TONES[index % len(FIGURE_TONES)], index // len(FIGURE_TONES) % len(chart.DASHES))


def _axis_of_means(estimates: Sequence[Estimate]) -> Axis:
    """Logarithmic if the means differ by a large ratio. Intervals that reach far below the lowest mean are cut."""
    means = [mean for mean, _, _ in estimates if math.isfinite(mean)]
    values = [number for estimate in estimates for number in estimate if math.isfinite(number)]
    if not means or min(means) <= 0 or max(values) / min(means) <= SETTINGS_LOG_RATIO:
        return chart.linear(min(values, default=0.0), max(values, default=1.0))
    return chart.logarithmic(max(min(values), min(means) / SETTINGS_LOG_RATIO), max(values))
