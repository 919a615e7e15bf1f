"""A chart of every seed's curve (thin) and each arm's mean curve (thick). Knows nothing of how it is drawn."""

import math
from dataclasses import dataclass, replace

import numpy as np

from glasshouse import formatting
from glasshouse.pages import chart
from glasshouse.pages.chart import Axis, Chart, Dots, Line, MarkGroup
from glasshouse.pages.line_charts import LegendEntry, Panel, sorted_points, thin
from glasshouse.pages.study_differences import limit_without_outliers, styles
from glasshouse.results import study_text
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
    style: MarkGroup
    seeds: dict[int, tuple[np.ndarray, np.ndarray]]
    mean: tuple[np.ndarray, np.ndarray]
    omitted: int  # number of seeds that are not drawn


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


def panel(comparison: StudyResults) -> Panel:
    """The chart, with its legend and remarks. Its scales are those that the reader can choose."""
    drawn = arm_curves(comparison)
    scales = value_scales(drawn, comparison.curve_most)
    title = "training loss" if comparison.curve == "loss" else comparison.curve
    heading, _ = study_text.labels(comparison)
    names = study_text.short_names(study_text.marked_labels(comparison), NAME_CHARACTERS)
    legend = [
        LegendEntry(name, curves.style.classes, _last(curves), curves.arm.name)
        for curves, name in zip(drawn, names, strict=True)
    ]
    if not scales:
        return Panel(title, Chart("no curve yet"), legend, [], heading)
    steps = chart.finite([steps for curves in drawn for steps, _ in [*curves.seeds.values(), curves.mean]])
    label = "; ".join(f"{entry.full} ends at {entry.last}" for entry in legend)
    means = [
        MarkGroup([Line(*curves.mean, width=2.1)], name, curves.style.tone, curves.style.dash, curve=index)
        for index, (curves, name) in enumerate(zip(drawn, names, strict=True))
    ]
    figure = Chart(
        f"Curves over training steps: {label}",
        chart.steps(steps.min(), steps.max()),
        scales,
        [*(_seeds(index, curves) for index, curves in enumerate(drawn)), *means],
        shown="close-up" if "close-up" in scales else "linear",
        readable=True,
        height=300,
    )
    return Panel(title, figure, legend, remarks(comparison, drawn), heading)


def training_panel(comparison: StudyResults) -> Panel | None:
    """The chart of the training losses; None if they were not logged, or are the curves of the study itself."""
    arms = tuple(replace(arm, curves=arm.training_losses, values={}, diverged=()) for arm in comparison.arms)
    if not any(curve for arm in arms for curve in arm.curves.values()):
        return None
    return panel(replace(comparison, curve="loss", curve_most=math.inf, arms=arms))


def value_scales(drawn: list[ArmCurves], most: float = math.inf) -> dict[str, Axis]:
    """The available scales: linear, log if every value is above zero, and a close-up of the end of training.

    Diverged seeds and outlying arms do not count towards the range unless there is nothing else to draw. `most` is the
    largest possible value, where the axes end.
    """
    outliers = outlying_arms(drawn)
    inliers = [curves for index, curves in enumerate(drawn) if index not in outliers]
    counted = [(curves, points) for curves in inliers for points in _stable_curves(curves)]
    counted = counted or [(curves, points) for curves in drawn for points in curves.seeds.values()]
    values = chart.finite([values for _, (_, values) in counted])
    if not len(values):
        return {}
    scales = {"linear": chart.linear(values.min(), values.max(), most=most)}
    if chart.allows_log_axis(values):
        scales["log"] = chart.logarithmic(values.min(), values.max(), most=most)
    ends = chart.finite([values[steps >= CLOSE_UP_START * curves.arm.steps] for curves, (steps, values) in counted])
    if len(ends) and 0 < ends.max() - ends.min() < CLOSE_UP_SHARE * (values.max() - values.min()):
        scales["close-up"] = chart.linear(ends.min(), ends.max(), most=most)
    return scales


def outlying_arms(drawn: list[ArmCurves]) -> set[int]:
    """Indices of the arms so far from the others that the others could not be distinguished on the same scale."""
    by_arm = {
        index: values
        for index, curves in enumerate(drawn)
        if len(values := chart.finite([values for _, values in _stable_curves(curves)]))
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


def divergence_points(curves: ArmCurves) -> list[tuple[float, float]]:
    """The last step and value of each diverged seed that can be drawn."""
    points = []
    for seed, (steps, values) in curves.seeds.items():
        finite = np.flatnonzero(~np.isnan(values))
        if seed in curves.arm.diverged and len(finite):
            points.append((float(steps[finite[-1]]), float(values[finite[-1]])))
    return points


def _seeds(index: int, curves: ArmCurves) -> MarkGroup:
    """The lines of the seeds of an arm; a cross ends a diverged seed."""
    lines = [Line(*points, width=0.8, opacity=0.38) for points in curves.seeds.values()]
    crosses = [Dots([step], [value], size=7, shape="cross", at_edge=True) for step, value in divergence_points(curves)]
    return MarkGroup([*lines, *crosses], tone=curves.style.tone, curve=index)


def _last(curves: ArmCurves) -> str:
    """The last value of the mean curve."""
    return formatting.short_number(float(curves.mean[1][-1])) if len(curves.mean[1]) else formatting.MISSING


def _curve(arm: Arm, seed: int) -> Curve:
    points = arm.curves[seed]
    return Curve(arm.name, [float(step) for step, _ in points], [float(value) for _, value in points])
