"""Every seed's curve (thin) and each arm's mean (thick) as one SVG that `charts.js` reads. Knows nothing of the page."""

import json
import math
from dataclasses import dataclass
from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages import axes, charts, study_text
from glasshouse.pages.curve_thinning import drawable, thin
from glasshouse.pages.report_content import Curve
from glasshouse.pages.study_content import Arm, StudyResults
from glasshouse.pages.study_differences import Style, styles, without_far

MOST_SEEDS = 24
# Over all arms: more lines than this are a blot, and a page of megabytes.
MOST_LINES = 160
MOST_POINTS = 12_000
# The close-up shows the values of this last part of training; it is what shows first where the whole would flatten it.
END = 0.5
FLAT = 0.3
NAME_CHARACTERS = 34


@dataclass(frozen=True)
class Fan:
    """An arm's curves, ready to draw."""

    arm: Arm
    style: Style
    seeds: dict[int, tuple[np.ndarray, np.ndarray]]
    mean: tuple[np.ndarray, np.ndarray]
    left_out: int  # seeds that are not drawn


@dataclass(frozen=True)
class Panel:
    drawing: str
    heading: str  # what the names in the legend are values of, where they are
    legend: list[dict[str, str]]
    remarks: list[str]
    scales: list[str]  # those there are to choose from
    shown: str


def fans(comparison: StudyResults) -> list[Fan]:
    """Each arm's curves, thinned; as many seeds as can be told apart, diverged ones first so that none goes unseen."""
    arms = comparison.arms
    most_seeds = max(3, min(MOST_SEEDS, MOST_LINES // max(1, len(arms))))
    chosen = [sorted(sorted(arm.curves, key=lambda seed: (seed not in arm.diverged, seed))[:most_seeds]) for arm in arms]
    points = min(400, max(60, MOST_POINTS // max(1, sum(map(len, chosen)))))
    return [
        Fan(
            arm,
            style,
            {seed: thin(_curve(arm, seed), points) for seed in seeds},
            mean(arm),
            len(arm.curves) - len(seeds),
        )
        for arm, style, seeds in zip(arms, styles(len(arms)), chosen, strict=True)
    ]


def mean(arm: Arm, most: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the seeds that came through (of all, while none has), over the steps that all of them have reached."""
    finished = [seed for seed in arm.curves if math.isfinite(arm.values.get(seed, math.nan))]
    found = [drawable(_curve(arm, seed)) for seed in finished or arm.curves]
    known = [(steps[~np.isnan(values)], values[~np.isnan(values)]) for steps, values in found]
    known = [(steps, values) for steps, values in known if len(steps)]
    if not known:
        return np.empty(0), np.empty(0)
    start, end = max(steps[0] for steps, _ in known), min(steps[-1] for steps, _ in known)
    grid = np.unique(np.concatenate([steps for steps, _ in known]))
    grid = grid[(grid >= start) & (grid <= end)]
    if not len(grid):
        return np.empty(0), np.empty(0)
    values = np.mean([np.interp(grid, steps, values) for steps, values in known], axis=0)
    return thin(Curve(arm.name, grid.tolist(), values.tolist()), most)


def curves(comparison: StudyResults, width: int = 460, height: int = 300) -> Panel:
    """The chart with its legend, what it leaves out, and the scales that a reader can choose between."""
    drawn = fans(comparison)
    scales = ranges(drawn)
    heading, named = study_text.labels(comparison)
    names = study_text.short_names(named, NAME_CHARACTERS)
    legend = [
        {"name": name, "full": fan.arm.name, "classes": fan.style.classes, "last": _last(fan)}
        for fan, name in zip(drawn, names, strict=True)
    ]
    if not scales:
        drawing = (
            f'<svg class="chart" viewBox="0 0 {width} 90" role="img" aria-label="no curve yet">'
            f'<text class="empty" x="{width / 2}" y="48" text-anchor="middle">no curve yet</text></svg>'
        )
        return Panel(drawing, heading, legend, [], [], "")
    shown = first_shown(scales)
    steps = charts.finite([steps for fan in drawn for steps, _ in [*fan.seeds.values(), fan.mean]])
    labels = [formatting.short_number(tick) for axis in scales.values() for tick in axis.ticks]
    frame = charts.Frame(left=max(30, 7.2 * max(map(len, labels)) + 12), top=10, right=width - 8, bottom=height - 30)
    across = axes.steps(steps.min(), steps.max())
    body = charts.step_axis(across, frame)
    # A drawing within the drawing cuts off what leaves the frame.
    box = (frame.left - 4, frame.top - 4, frame.right - frame.left + 8, frame.bottom - frame.top + 8)
    x, y, wide, high = (f"{side:.1f}" for side in box)
    window = f'<svg x="{x}" y="{y}" width="{wide}" height="{high}" viewBox="{x} {y} {wide} {high}">'
    for name, axis in scales.items():
        hidden = "" if name == shown else ' display="none"'
        lines = "".join(_fan(index, fan, across, axis, frame) for index, fan in enumerate(drawn))
        means = "".join(_mean(index, fan, across, axis, frame) for index, fan in enumerate(drawn))
        body += f'<g data-scale="{name}"{hidden}>{charts.value_axis(axis, frame)}{window}{lines}{means}</svg></g>'
    data = {
        "frame": [round(edge, 1) for edge in (frame.left, frame.top, frame.right, frame.bottom)],
        "across": [across.low, across.high],
        "scales": {name: [axis.low, axis.high] for name, axis in scales.items()},
        "shown": shown,
        "curves": [
            {
                "name": name,
                "tone": fan.style.classes,
                "steps": charts.short(fan.mean[0], digits=12),
                "values": charts.short(fan.mean[1]),
            }
            for fan, name in zip(drawn, names, strict=True)
        ],
    }
    packed = escape(json.dumps(data, separators=(",", ":"), allow_nan=False))
    told = escape("Curves over training steps: " + "; ".join(f"{each['full']} ends at {each['last']}" for each in legend))
    drawing = (
        f'<svg class="chart fan" viewBox="0 0 {width} {height}" role="img" aria-label="{told}" data-chart="{packed}">'
        f"{body}</svg>"
    )
    return Panel(drawing, heading, legend, remarks(comparison, drawn), list(scales), shown)


def ranges(drawn: list[Fan]) -> dict[str, axes.Axis]:
    """The scales there are: linear, log where every value is above zero, and a close-up of the end of training.

    Seeds that diverged do not count, where others did not, nor do arms that lie far out: they leave the picture, and the
    rest stays to be seen.
    """
    outside = far(drawn)
    near = [fan for index, fan in enumerate(drawn) if index not in outside]
    counted = [(fan, points) for fan in near for points in _sound(fan)]
    counted = counted or [(fan, points) for fan in drawn for points in fan.seeds.values()]
    values = charts.finite([values for _, (_, values) in counted])
    if not len(values):
        return {}
    scales = {"linear": axes.linear(values.min(), values.max())}
    if charts.allow_log(values):
        scales["log"] = axes.logarithmic(values.min(), values.max())
    ends = charts.finite([values[steps >= END * fan.arm.steps] for fan, (steps, values) in counted])
    if len(ends) and 0 < ends.max() - ends.min() < FLAT * (values.max() - values.min()):
        scales["close-up"] = axes.linear(ends.min(), ends.max())
    return scales


def far(drawn: list[Fan]) -> set[int]:
    """Which arms lie so far from the others that these could not be told apart."""
    found = {index: values for index, fan in enumerate(drawn) if len(values := charts.finite([v for _, v in _sound(fan)]))}
    if len(found) < 3:
        return set()
    middle = np.median([np.median(values) for values in found.values()])
    reaches = {index: float(np.abs(values - middle).max()) for index, values in found.items()}
    most = without_far(list(reaches.values()))
    return {index for index, reach in reaches.items() if reach > most}


def _sound(fan: Fan) -> list[tuple[np.ndarray, np.ndarray]]:
    """The curves of seeds that did not diverge, and their mean."""
    seeds = [points for seed, points in fan.seeds.items() if seed not in fan.arm.diverged and len(points[0])]
    return [*seeds, fan.mean] if seeds else []


def first_shown(scales: dict[str, axes.Axis]) -> str:
    return "close-up" if "close-up" in scales else "linear"


def remarks(comparison: StudyResults, drawn: list[Fan]) -> list[str]:
    """What the picture leaves out, and what it cannot say by itself."""
    found = []
    left_out = [fan for fan in drawn if fan.left_out]
    if left_out:
        most = max(len(fan.seeds) for fan in left_out)
        found.append(f"Of each arm at most {most} seeds are drawn, those that diverged first; the means are of all.")
    diverged = [f"{fan.arm.name} ({formatting.listed(fan.arm.diverged)})" for fan in drawn if fan.arm.diverged]
    if diverged:
        found.append(f"Seeds that diverged end with a cross where they ended: {'; '.join(diverged)}.")
    outside = [drawn[index].arm.name for index in sorted(far(drawn))]
    if outside:
        found.append(f"Beyond the edge, so that the others can be told apart: {formatting.listed(outside)}.")
    if len({fan.arm.steps for fan in drawn if fan.arm.steps}) > 1:
        found.append(f"The arms take different numbers of steps, because they are matched by {comparison.match}.")
    return found


def within(values: np.ndarray, axis: axes.Axis) -> np.ndarray:
    """Values that leave the picture stop just outside it; what a logarithmic scale does not have becomes a gap."""
    low, high = axis.low - (axis.high - axis.low), axis.high + (axis.high - axis.low)
    if axis.log:
        low, high = axis.low * (axis.low / axis.high), axis.high * (axis.high / axis.low)
        values = np.where(values > 0, values, np.nan)
    return np.clip(values, low, high)


def ends(fan: Fan) -> list[tuple[float, float]]:
    """Where each diverged seed ended: its last step and value that can be drawn."""
    found = []
    for seed, (steps, values) in fan.seeds.items():
        known = np.flatnonzero(~np.isnan(values))
        if seed in fan.arm.diverged and len(known):
            found.append((float(steps[known[-1]]), float(values[known[-1]])))
    return found


def _fan(index: int, fan: Fan, across: axes.Axis, up: axes.Axis, frame: charts.Frame) -> str:
    """The seeds of an arm."""
    lines = dots = crosses = ""
    for steps, values in fan.seeds.values():
        line, alone = charts.trace(steps, within(values, up), across, up, frame)
        lines, dots = lines + line, dots + alone
    for step, value in ends(fan):
        if not up.log or value > 0:
            x, y = frame.x(across.fraction(step)), frame.y(min(1.0, max(0.0, up.fraction(value))))
            crosses += f"M{x - 3.5:.1f} {y - 3.5:.1f}l7 7m0 -7l-7 7"
    colour = charts.FALLBACK_COLOURS[fan.style.tone]
    body = f'<path class="seeds" fill="none" stroke="{colour}" stroke-width="0.7" stroke-opacity="0.4" d="{lines}"/>'
    if dots:
        body += f'<path class="seeds" stroke="{colour}" stroke-width="3" stroke-linecap="round" d="{dots}"/>'
    if crosses:
        body += f'<path class="cross" fill="none" stroke="{colour}" stroke-width="1.6" d="{crosses}"/>'
    return f'<g class="curve {fan.style.classes}" data-curve="{index}">{body}</g>'


def _mean(index: int, fan: Fan, across: axes.Axis, up: axes.Axis, frame: charts.Frame) -> str:
    steps, values = fan.mean
    line, dots = charts.trace(steps, within(values, up), across, up, frame)
    colour = charts.FALLBACK_COLOURS[fan.style.tone]
    body = f'<path class="line" fill="none" stroke="{colour}" stroke-width="2" d="{line}"/>'
    if dots:
        body += f'<path class="dots" fill="none" stroke="{colour}" stroke-width="6" stroke-linecap="round" d="{dots}"/>'
    return f'<g class="curve {fan.style.classes}" data-curve="{index}">{body}</g>'


def _last(fan: Fan) -> str:
    return formatting.short_number(float(fan.mean[1][-1])) if len(fan.mean[1]) else formatting.NOTHING


def _curve(arm: Arm, seed: int) -> Curve:
    points = arm.curves[seed]
    return Curve(arm.name, [float(step) for step, _ in points], [float(value) for _, value in points])
