"""A chart of every seed's curve (thin) and each arm's mean curve (thick), as SVG with data for charts.js."""

import json
import math
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages import axes, charts, study_text
from glasshouse.pages.curve_thinning import sorted_points, thin
from glasshouse.pages.study_differences import Style, limit_without_outliers, styles
from glasshouse.results.report import Curve
from glasshouse.results.study import Arm, StudyResults

# Limits that keep the chart readable and the page small. The last two count over all arms.
MOST_SEEDS = 24
MOST_LINES = 160
MOST_POINTS = 12_000
# The close-up scale shows the values from this fraction of training on. It is offered if they span less than
# CLOSE_UP_SHARE of the whole range.
CLOSE_UP_START = 0.5
CLOSE_UP_SHARE = 0.3
NAME_CHARACTERS = 34


@dataclass(frozen=True)
class ArmCurves:
    """The curves of one arm, thinned: those of its seeds and their mean."""

    arm: Arm
    style: Style
    seeds: dict[int, tuple[np.ndarray, np.ndarray]]
    mean: tuple[np.ndarray, np.ndarray]
    omitted: int  # number of seeds that are not drawn


@dataclass(frozen=True)
class Panel:
    """The chart with its legend; `heading` names the fields whose values the legend lists, and may be empty."""

    drawing: str
    heading: str
    legend: list[dict[str, str]]
    remarks: list[str]
    scales: list[str]  # the scales that the reader can choose
    visible: str  # the scale that is visible first


def arm_curves(comparison: StudyResults) -> list[ArmCurves]:
    """The curves to draw of each arm. If an arm has too many seeds, its diverged seeds are drawn first."""
    arms = comparison.arms
    most_seeds = max(3, min(MOST_SEEDS, MOST_LINES // max(1, len(arms))))
    chosen = [sorted(sorted(arm.curves, key=lambda seed: (seed not in arm.diverged, seed))[:most_seeds]) for arm in arms]
    points = min(400, max(60, MOST_POINTS // max(1, sum(map(len, chosen)))))
    return [
        ArmCurves(
            arm,
            style,
            {seed: thin(_curve(arm, seed), points) for seed in seeds},
            mean_curve(arm),
            len(arm.curves) - len(seeds),
        )
        for arm, style, seeds in zip(arms, styles(comparison), chosen, strict=True)
    ]


def mean_curve(arm: Arm, most: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """The mean curve of the finished seeds, or of all seeds if none has finished.

    It covers the steps that all these seeds have reached; values between logged steps are interpolated.
    """
    finished = [seed for seed in arm.curves if math.isfinite(arm.values.get(seed, math.nan))]
    curves = [sorted_points(_curve(arm, seed)) for seed in finished or arm.curves]
    finite = [(steps[~np.isnan(values)], values[~np.isnan(values)]) for steps, values in curves]
    finite = [(steps, values) for steps, values in finite if len(steps)]
    if not finite:
        return np.empty(0), np.empty(0)
    start, end = max(steps[0] for steps, _ in finite), min(steps[-1] for steps, _ in finite)
    grid = np.unique(np.concatenate([steps for steps, _ in finite]))
    grid = grid[(grid >= start) & (grid <= end)]
    if not len(grid):
        return np.empty(0), np.empty(0)
    values = np.mean([np.interp(grid, steps, values) for steps, values in finite], axis=0)
    return thin(Curve(arm.name, grid.tolist(), values.tolist()), most)


def panel(comparison: StudyResults, width: int = 460, height: int = 300) -> Panel:
    """Draw the chart, with its legend, remarks and scales."""
    drawn = arm_curves(comparison)
    scales = value_scales(drawn, comparison.curve_most)
    heading, _ = study_text.labels(comparison)
    names = study_text.short_names(study_text.marked_labels(comparison), NAME_CHARACTERS)
    legend = [
        {"name": name, "full": curves.arm.name, "classes": curves.style.classes, "last": _last(curves)}
        for curves, name in zip(drawn, names, strict=True)
    ]
    if not scales:
        drawing = (
            f'<svg class="chart" viewBox="0 0 {width} 90" role="img" aria-label="no curve yet">'
            f'<text class="empty" x="{width / 2}" y="48" text-anchor="middle">no curve yet</text></svg>'
        )
        return Panel(drawing, heading, legend, [], [], "")
    visible = default_scale(scales)
    steps = charts.finite_values([steps for curves in drawn for steps, _ in [*curves.seeds.values(), curves.mean]])
    ticks = [formatting.short_number(tick) for axis in scales.values() for tick in axis.ticks]
    frame = charts.Frame(left=max(30, 7.2 * max(map(len, ticks)) + 12), top=10, right=width - 8, bottom=height - 30)
    x_axis = axes.steps(steps.min(), steps.max())
    body = charts.draw_step_axis(x_axis, frame)
    # A nested svg element clips the lines to the frame.
    box = (frame.left - 4, frame.top - 4, frame.right - frame.left + 8, frame.bottom - frame.top + 8)
    x, y, wide, high = (f"{side:.1f}" for side in box)
    window = f'<svg x="{x}" y="{y}" width="{wide}" height="{high}" viewBox="{x} {y} {wide} {high}">'
    for name, axis in scales.items():
        hidden = "" if name == visible else ' display="none"'
        lines = "".join(_seed_lines(index, curves, x_axis, axis, frame) for index, curves in enumerate(drawn))
        means = "".join(_mean_line(index, curves, x_axis, axis, frame) for index, curves in enumerate(drawn))
        body += f'<g data-scale="{name}"{hidden}>{charts.draw_value_axis(axis, frame)}{window}{lines}{means}</svg></g>'
    # The keys of this object are read by charts.js.
    data = {
        "frame": [round(edge, 1) for edge in (frame.left, frame.top, frame.right, frame.bottom)],
        "across": [x_axis.low, x_axis.high],
        "scales": {name: [axis.low, axis.high] for name, axis in scales.items()},
        "shown": visible,
        "curves": [
            {
                "name": name,
                "tone": curves.style.classes,
                "steps": charts.round_numbers(curves.mean[0], digits=12),
                "values": charts.round_numbers(curves.mean[1]),
            }
            for curves, name in zip(drawn, names, strict=True)
        ],
    }
    packed = escape(json.dumps(data, separators=(",", ":"), allow_nan=False))
    label = escape(
        "Curves over training steps: " + "; ".join(f"{entry['full']} ends at {entry['last']}" for entry in legend)
    )
    drawing = (
        f'<svg class="chart fan" viewBox="0 0 {width} {height}" role="img" aria-label="{label}" data-chart="{packed}">'
        f"{body}</svg>"
    )
    return Panel(drawing, heading, legend, remarks(comparison, drawn), list(scales), visible)


def training_panel(comparison: StudyResults) -> Panel | None:
    """The chart of the training losses; None if they were not logged, or are the curves of the study itself."""
    arms = tuple(replace(arm, curves=arm.training_losses, values={}, diverged=()) for arm in comparison.arms)
    if not any(curve for arm in arms for curve in arm.curves.values()):
        return None
    return panel(replace(comparison, curve="loss", curve_most=math.inf, arms=arms))


def value_scales(drawn: list[ArmCurves], most: float = math.inf) -> dict[str, axes.Axis]:
    """The available scales: linear, log if every value is above zero, and a close-up of the end of training.

    Diverged seeds and outlying arms do not count towards the range unless there is nothing else to draw. `most` is the
    largest possible value, where the axes end.
    """
    outliers = outlying_arms(drawn)
    inliers = [curves for index, curves in enumerate(drawn) if index not in outliers]
    counted = [(curves, points) for curves in inliers for points in _stable_curves(curves)]
    counted = counted or [(curves, points) for curves in drawn for points in curves.seeds.values()]
    values = charts.finite_values([values for _, (_, values) in counted])
    if not len(values):
        return {}
    scales = {"linear": axes.linear(values.min(), values.max(), most=most)}
    if charts.allows_log_scale(values):
        scales["log"] = axes.logarithmic(values.min(), values.max(), most=most)
    ends = charts.finite_values([values[steps >= CLOSE_UP_START * curves.arm.steps] for curves, (steps, values) in counted])
    if len(ends) and 0 < ends.max() - ends.min() < CLOSE_UP_SHARE * (values.max() - values.min()):
        scales["close-up"] = axes.linear(ends.min(), ends.max(), most=most)
    return scales


def outlying_arms(drawn: list[ArmCurves]) -> set[int]:
    """Indices of the arms so far from the others that the others could not be distinguished on the same scale."""
    by_arm = {
        index: values
        for index, curves in enumerate(drawn)
        if len(values := charts.finite_values([values for _, values in _stable_curves(curves)]))
    }
    if len(by_arm) < 3:
        return set()
    middle = np.median([np.median(values) for values in by_arm.values()])
    extents = {index: float(np.abs(values - middle).max()) for index, values in by_arm.items()}
    most = limit_without_outliers(list(extents.values()))
    return {index for index, extent in extents.items() if extent > most}


def _stable_curves(curves: ArmCurves) -> list[tuple[np.ndarray, np.ndarray]]:
    """The curves of the seeds that did not diverge, and their mean."""
    seeds = [points for seed, points in curves.seeds.items() if seed not in curves.arm.diverged and len(points[0])]
    return [*seeds, curves.mean] if seeds else []


def default_scale(scales: dict[str, axes.Axis]) -> str:
    """The scale that is visible first."""
    return "close-up" if "close-up" in scales else "linear"


def remarks(comparison: StudyResults, drawn: list[ArmCurves]) -> list[str]:
    """Sentences about what the chart omits or cannot show by itself."""
    sentences = []
    reduced = [curves for curves in drawn if curves.omitted]
    if reduced:
        most = max(len(curves.seeds) for curves in reduced)
        sentences.append(f"At most {most} seeds of each arm are drawn, diverged seeds first; each mean is over all seeds.")
    diverged = [
        f"{curves.arm.name} ({formatting.join_with_and(curves.arm.diverged)})" for curves in drawn if curves.arm.diverged
    ]
    if diverged:
        sentences.append(f"A cross shows where a seed diverged: {'; '.join(diverged)}.")
    outside = [drawn[index].arm.name for index in sorted(outlying_arms(drawn))]
    if outside:
        names = formatting.join_with_and(outside)
        sentences.append(f"Outside the chart, so that the other arms can be distinguished: {names}.")
    if len({curves.arm.steps for curves in drawn if curves.arm.steps}) > 1:
        sentences.append(f"The arms take different numbers of steps, because they are matched by {comparison.match}.")
    return sentences


def clip_to_axis(values: np.ndarray, axis: axes.Axis) -> np.ndarray:
    """Clip values to just outside the axis. On a logarithmic axis, values at or below zero become NaN."""
    low, high = axis.low - (axis.high - axis.low), axis.high + (axis.high - axis.low)
    if axis.log:
        low, high = axis.low * (axis.low / axis.high), axis.high * (axis.high / axis.low)
        values = np.where(values > 0, values, np.nan)
    return np.clip(values, low, high)


def divergence_points(curves: ArmCurves) -> list[tuple[float, float]]:
    """The last step and value of each diverged seed that can be drawn."""
    points = []
    for seed, (steps, values) in curves.seeds.items():
        finite = np.flatnonzero(~np.isnan(values))
        if seed in curves.arm.diverged and len(finite):
            points.append((float(steps[finite[-1]]), float(values[finite[-1]])))
    return points


def _seed_lines(index: int, curves: ArmCurves, x_axis: axes.Axis, y_axis: axes.Axis, frame: charts.Frame) -> str:
    """SVG of the seeds of an arm; a cross ends a diverged seed."""
    lines = dots = crosses = ""
    for steps, values in curves.seeds.values():
        line, isolated = charts.path_commands(steps, clip_to_axis(values, y_axis), x_axis, y_axis, frame)
        lines, dots = lines + line, dots + isolated
    for step, value in divergence_points(curves):
        if not y_axis.log or value > 0:
            x, y = frame.x(x_axis.fraction(step)), frame.y(min(1.0, max(0.0, y_axis.fraction(value))))
            crosses += f"M{x - 3.5:.1f} {y - 3.5:.1f}l7 7m0 -7l-7 7"
    colour = charts.LIGHT_COLOURS[curves.style.tone]
    body = f'<path class="seeds" fill="none" stroke="{colour}" stroke-width="0.7" stroke-opacity="0.4" d="{lines}"/>'
    if dots:
        body += f'<path class="seeds" stroke="{colour}" stroke-width="3" stroke-linecap="round" d="{dots}"/>'
    if crosses:
        body += f'<path class="cross" fill="none" stroke="{colour}" stroke-width="1.6" d="{crosses}"/>'
    return f'<g class="curve {curves.style.classes}" data-curve="{index}">{body}</g>'


def _mean_line(index: int, curves: ArmCurves, x_axis: axes.Axis, y_axis: axes.Axis, frame: charts.Frame) -> str:
    """SVG of the mean curve of an arm."""
    steps, values = curves.mean
    line, dots = charts.path_commands(steps, clip_to_axis(values, y_axis), x_axis, y_axis, frame)
    colour = charts.LIGHT_COLOURS[curves.style.tone]
    body = f'<path class="line" fill="none" stroke="{colour}" stroke-width="2" d="{line}"/>'
    if dots:
        body += f'<path class="dots" fill="none" stroke="{colour}" stroke-width="6" stroke-linecap="round" d="{dots}"/>'
    return f'<g class="curve {curves.style.classes}" data-curve="{index}">{body}</g>'


def _last(curves: ArmCurves) -> str:
    """The last value of the mean curve."""
    return formatting.short_number(float(curves.mean[1][-1])) if len(curves.mean[1]) else formatting.MISSING


def _curve(arm: Arm, seed: int) -> Curve:
    points = arm.curves[seed]
    return Curve(arm.name, [float(step) for step, _ in points], [float(value) for _, value in points])
