"""The results of a sweep: a line chart of the metric over one numeric field, or a shaded grid over two fields."""

import math
from dataclasses import dataclass, replace

import numpy as np

from glasshouse import formatting
from glasshouse.formatting import LARGEST_DRAWABLE
from glasshouse.pages import chart, study_tables
from glasshouse.pages.chart import Axis, Chart, Dots, Interval, Line, Mark, MarkGroup, Text
from glasshouse.results import study_text
from glasshouse.results.study import Arm, StudyResults
from glasshouse.results.study_text import SweptField

SHADES = 5


@dataclass(frozen=True)
class GridCell:
    """A cell of the grid: its text, its tooltip, its shade, and whether it is the best."""

    text: str
    title: str
    shade: int
    best: bool


@dataclass(frozen=True)
class Grid:
    """A table with one field's values as rows and the other's as columns."""

    down: SweptField
    across: SweptField
    rows: list[list[GridCell]]


@dataclass(frozen=True)
class Sweep:
    lines: list[tuple[str, Chart]]  # (field, chart)
    grid: Grid | None
    best: str  # the best arm with its mean, as text
    several_fields: bool  # whether more than one field was swept


def sweep(comparison: StudyResults) -> Sweep | None:
    """The charts of a sweep: a grid for two fields, otherwise a line for each numeric field. None if neither is possible."""
    swept = study_text.swept_fields(comparison)
    numeric = [field for field in swept if field.numbers and len(field.values) >= study_text.FEWEST_VALUES]
    grid = _grid(comparison, *swept) if len(swept) == 2 else None
    if grid is None and not numeric:
        return None
    lines = [] if grid else [(field.name, line_chart(comparison, field)) for field in numeric]
    best = study_text.best_arm(comparison)
    several_fields = len(swept) > 1
    if best is None or best.summary is None:
        return Sweep(lines, grid, "", several_fields)
    row = study_tables.rows(comparison)[comparison.arms.index(best)]
    text = f"{best.name}: {row.cells['mean'].full}"
    return Sweep(lines, grid, text, several_fields)


def log_spaced(numbers: tuple[float, ...]) -> bool:
    """Whether the numbers are spaced more evenly by ratios than by differences."""
    if len(numbers) < 3 or min(numbers) <= 0:
        return False
    unevenness = [np.std(gaps) / np.mean(gaps) for gaps in (np.diff(numbers), np.diff(np.log(numbers)))]
    return bool(unevenness[1] < unevenness[0])


def line_chart(comparison: StudyResults, field: SweptField) -> Chart:
    """The metric over one field.

    If it is the only swept field, dots are seeds and the line joins their means. If other fields vary too, dots are the
    means of arms and the line joins the best mean at each value.
    """
    assert field.numbers is not None
    only_field = len(study_text.swept_fields(comparison)) == 1
    columns = [_column(comparison, field.name, value, only_field) for value in field.values]
    values = chart.finite(np.array([*column.dots, *column.estimate]) for column in columns)
    if not len(values):
        return Chart("no seed has finished")
    log = chart.allows_log_axis(values) and values.max() > 20 * values.min()
    y_axis = (chart.logarithmic if log else chart.linear)(values.min(), values.max())
    x_axis = _field_axis(field.numbers)
    dots: list[tuple[float, float]] = []
    bars: list[Mark] = []
    texts = []
    for number, column in zip(field.numbers, columns, strict=True):
        place = x_axis.fraction(number)
        for index, value in enumerate(column.dots):
            # Seeds are drawn to the right of the interval, so that neither hides the other.
            beside = 0.016 + (index * 0.618034) % 1 * 0.018 if only_field else 0
            dots.append((x_axis.value(place + beside), value))
        if len(column.estimate) == 3:
            bars.append(Interval(number, *column.estimate[1:]))
        if column.diverged:
            texts.append(Text(f"✗{column.diverged}", place, 1, up=12, tone="worse"))
    means = [(number, column.estimate[0]) for number, column in zip(field.numbers, columns, strict=True) if column.estimate]
    series = [
        MarkGroup([Dots(*zip(*dots, strict=True), size=4.4, opacity=0.4), *bars, Line(*zip(*means, strict=True), width=2)])
    ]
    best = study_text.best_arm(comparison)
    if best and best.summary and field.name in best.changes:
        value = study_text.as_number(best.changes[field.name])
        series.append(MarkGroup([Dots([value], [best.summary.mean], size=16, shape="ring")], tone="ink", about="best"))
    title = f"{comparison.metric} against {field.name}"
    return Chart(title, x_axis, {"linear": y_axis}, series, texts, field.name, height=290, above=14)


@dataclass(frozen=True)
class _Column:
    """The points of a line chart at one value of the field."""

    dots: list[float]
    estimate: tuple[float, ...]  # (mean, low, high), (mean,) or ()
    diverged: int  # number of seeds


def _column(comparison: StudyResults, name: str, value: str, only_field: bool) -> _Column:
    arms = [arm for arm in comparison.arms if arm.changes.get(name) == value]
    diverged = sum(len(arm.diverged) for arm in arms)
    means = [arm.summary.mean for arm in arms if arm.summary and abs(arm.summary.mean) <= LARGEST_DRAWABLE]
    if not only_field:
        best = (max if comparison.higher_is_better else min)(means, default=None)
        return _Column(means, () if best is None else (best,), diverged)
    dots = [value for arm in arms for value in arm.values.values() if abs(value) <= LARGEST_DRAWABLE]
    estimate: tuple[float, ...] = tuple(means[:1])
    for summary in (arm.summary for arm in arms):
        if estimate and summary and math.isfinite(summary.low) and math.isfinite(summary.high):
            estimate = (summary.mean, summary.low, summary.high)
    return _Column(dots, estimate, diverged)


def _grid(comparison: StudyResults, first: SweptField, second: SweptField) -> Grid | None:
    """A cell for each pair of values. The field with fewer values forms the columns, so that the grid stays narrow.

    None if less than half of the pairs have an arm.
    """
    down, across = (second, first) if len(second.values) > len(first.values) else (first, second)
    arms = {(arm.changes.get(down.name, ""), arm.changes.get(across.name, "")): arm for arm in comparison.arms}
    pairs = [(row, column) for row in down.values for column in across.values]
    if sum(pair in arms for pair in pairs) < len(pairs) / 2:
        return None
    texts = dict(zip((arm.name for arm in comparison.arms), study_tables.rows(comparison), strict=True))
    means = [arm.summary.mean for arm in comparison.arms if arm.summary and math.isfinite(arm.summary.mean)]
    best = study_text.best_arm(comparison)

    def cell(arm: Arm | None) -> GridCell:
        if arm is None:
            return GridCell("", "not trained", 0, False)
        row = texts[arm.name]
        if arm.summary is None:
            return GridCell("✗" if arm.diverged else formatting.MISSING, "; ".join([arm.name, *row.notes]), 0, False)
        mean, seeds = row.cells["mean"], row.cells["seeds"].text
        shade = _shade(arm.summary.mean, means, comparison.higher_is_better)
        text = mean.text + (f" ✗{len(arm.diverged)}" if arm.diverged else "")
        return GridCell(text, "; ".join([f"{arm.name}: {mean.full}, seeds: {seeds}", *row.notes]), shade, arm is best)

    return Grid(down, across, [[cell(arms.get((row, column))) for column in across.values] for row in down.values])


def _shade(mean: float, means: list[float], higher_is_better: bool) -> int:
    """The shade of a cell: the best mean is the darkest.

    Distances from the best are capped at three times their median, so that one bad arm does not make all others look alike.
    """
    if not math.isfinite(mean):
        return 0
    best = max(means) if higher_is_better else min(means)
    distances = np.abs(np.array(sorted(means)) - best)
    largest = min(distances.max(), 3 * np.median(distances) or distances.max())
    return SHADES if largest == 0 else round(SHADES * (1 - min(1.0, abs(mean - best) / largest)))


def _field_axis(numbers: tuple[float, ...]) -> Axis:
    """An axis whose ticks are the swept values."""
    low, high = numbers[0], numbers[-1]
    if log_spaced(numbers):
        return replace(chart.logarithmic(low, high), ticks=numbers)
    padding = 0.05 * (high - low)
    return Axis(low - padding, high + padding, numbers)
