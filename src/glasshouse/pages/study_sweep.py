"""The results of a sweep: a line chart of the metric over one numeric field, or a shaded grid over two fields."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages import axes, charts, study_text
from glasshouse.pages.curve_thinning import LARGEST_DRAWABLE
from glasshouse.results.study import Arm, StudyResults

# A line chart needs at least this many values of its field.
FEWEST_VALUES = 3
SHADES = 5


@dataclass(frozen=True)
class Field:
    """A swept field with its values as the user wrote them; numeric values are sorted, others have `numbers=None`."""

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None


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

    down: Field
    across: Field
    rows: list[tuple[str, list[GridCell]]]


@dataclass(frozen=True)
class Sweep:
    """The charts of a sweep: lines, or a grid."""

    lines: list[tuple[str, str]]  # (field, drawing)
    grid: Grid | None
    best: str  # the best arm with its mean, as text
    several_fields: bool  # whether more than one field was swept


def sweep(comparison: StudyResults) -> Sweep | None:
    """The charts of a sweep: a grid for two fields, otherwise a line for each numeric field. None if neither is possible."""
    swept = fields(comparison)
    numeric = [field for field in swept if field.numbers and len(field.values) >= FEWEST_VALUES]
    grid = _grid(comparison, *swept) if len(swept) == 2 else None
    if grid is None and not numeric:
        return None
    lines = [] if grid else [(field.name, line_chart(comparison, field)) for field in numeric]
    best = best_arm(comparison)
    several_fields = len(swept) > 1
    if best is None or best.summary is None:
        return Sweep(lines, grid, "", several_fields)
    row = study_text.rows(comparison)[comparison.arms.index(best)]
    text = f"{best.name}: {row.mean}" + (f" ({row.mean_interval})" if row.mean_interval else "")
    return Sweep(lines, grid, text, several_fields)


def fields(comparison: StudyResults) -> list[Field]:
    """The fields that have at least two different values among the arms."""
    return [_field(name, values) for name, values in study_text.varied_fields(comparison).items() if len(values) > 1]


def in_order_of_values(arms: Sequence[Arm]) -> list[Arm]:
    """The arms by their values of the swept fields: numbers by size, other values in the order of first use."""
    swept: dict[str, list[str]] = {}
    for arm in arms:
        for name, value in arm.changes.items():
            swept.setdefault(name, [])
            swept[name] += [] if value in swept[name] else [value]
    places = {name: {value: place for place, value in enumerate(_field(name, swept[name]).values)} for name in swept}
    return sorted(arms, key=lambda arm: [places[name].get(arm.changes.get(name, ""), -1) for name in places])


def edge_warnings(comparison: StudyResults, fewest: int = 2) -> list[str]:
    """A sentence for each numeric field of at least `fewest` values whose best value is the smallest or the largest.

    Of two values the best is always one of these, and the sentence says so. A smallest value of 0 is no edge: it usually
    turns the field off, and nothing lies below.
    """
    best, warnings = best_arm(comparison), []
    for field in fields(comparison) if best else []:
        value = best.changes.get(field.name, "") if best else ""
        if field.numbers is None or len(field.values) < fewest or value not in field.values[:: len(field.values) - 1]:
            continue
        tried = "of the only two that were tried" if len(field.values) == 2 else "that was tried"
        largest = value == field.values[-1]
        if largest or _number(value) != 0:
            warnings.append(
                f"the best {field.name} is {value}, the {'largest' if largest else 'smallest'} {tried}: a "
                f"{'larger' if largest else 'smaller'} one may be better still, so sweep further in that direction"
            )
    return warnings


def best_arm(comparison: StudyResults) -> Arm | None:
    """The arm with the best mean among those with the fewest diverged seeds."""
    candidates = [arm for arm in comparison.arms if arm.summary and math.isfinite(arm.summary.mean)]
    sign = -1 if comparison.higher_is_better else 1
    return min(candidates, key=lambda arm: (len(arm.diverged), sign * arm.summary.mean), default=None)  # type: ignore[union-attr]


def log_spaced(numbers: tuple[float, ...]) -> bool:
    """Whether the numbers are spaced more evenly by ratios than by differences."""
    if len(numbers) < 3 or min(numbers) <= 0:
        return False
    unevenness = [np.std(gaps) / np.mean(gaps) for gaps in (np.diff(numbers), np.diff(np.log(numbers)))]
    return bool(unevenness[1] < unevenness[0])


def line_chart(comparison: StudyResults, field: Field, width: int = 460, height: int = 290) -> str:
    """Draw the metric over one field.

    If it is the only swept field, dots are seeds and the line joins their means. If other fields vary too, dots are the
    means of arms and the line joins the best mean at each value.
    """
    assert field.numbers is not None
    only_field = len(fields(comparison)) == 1
    columns = [
        (number, _column(comparison, field.name, value, only_field))
        for number, value in zip(field.numbers, field.values, strict=True)
    ]
    values = charts.finite_values([np.array([*column.dots, *column.estimate]) for _, column in columns])
    if not len(values):
        return (
            f'<svg class="chart" viewBox="0 0 {width} 90" role="img" aria-label="nothing to draw">'
            f'<text class="empty" x="{width / 2}" y="48" text-anchor="middle">no seed has finished</text></svg>'
        )
    log = charts.allows_log_scale(values) and values.max() > 20 * values.min()
    y_axis = (axes.logarithmic if log else axes.linear)(values.min(), values.max())
    numbers = field.numbers
    x_axis = axes.logarithmic(numbers[0], numbers[-1]) if log_spaced(numbers) else _plain_axis(numbers[0], numbers[-1])
    left = max(30, 7.2 * max(len(formatting.short_number(tick)) for tick in y_axis.ticks) + 12) if y_axis.ticks else 40
    frame = charts.Frame(left=left, top=24, right=width - 10, bottom=height - 48)
    body = charts.draw_value_axis(y_axis, frame) + _field_axis(field, x_axis, frame)
    accent = charts.LIGHT_COLOURS["accent"]
    path = dots = bars = ""
    for number, column in columns:
        x = frame.x(x_axis.fraction(number))
        for index, value in enumerate(column.dots):
            # Seeds are drawn to the right of the interval, so that neither hides the other.
            dot_x = x + 6 + (index * 0.618034) % 1 * 7 if only_field else x
            dots += f"M{dot_x:.1f} {frame.y(y_axis.fraction(value)):.1f}h0"
        if column.estimate:
            y = frame.y(y_axis.fraction(column.estimate[0]))
            path += f"{'L' if path else 'M'}{x:.1f} {y:.1f}"
        if len(column.estimate) == 3:
            low, high = (frame.y(y_axis.fraction(edge)) for edge in column.estimate[1:])
            bars += f"M{x - 3:.1f} {low:.1f}h6m-3 0V{high:.1f}m-3 0h6"
        if column.diverged:
            body += f'<text class="lost" x="{x:.1f}" y="{frame.top - 8:.1f}" text-anchor="middle">✗{column.diverged}</text>'
    body += (
        f'<g class="curve accent"><path class="seeds" stroke="{accent}" stroke-width="4" stroke-linecap="round" d="{dots}"/>'
        f'<path class="interval" fill="none" stroke="{accent}" d="{bars}"/>'
        f'<path class="line" fill="none" stroke="{accent}" stroke-width="2" d="{path}"/></g>'
    )
    best = best_arm(comparison)
    if best and best.summary and field.name in best.changes:
        number = _number(best.changes[field.name])
        x, y = frame.x(x_axis.fraction(number)), frame.y(y_axis.fraction(best.summary.mean))
        body += (
            f'<circle class="best" fill="none" stroke="#18221d" cx="{x:.1f}" cy="{y:.1f}" r="8"><title>best</title></circle>'
        )
    label = escape(f"{comparison.metric} against {field.name}")
    return f'<svg class="chart sweep" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{body}</svg>'


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


def _grid(comparison: StudyResults, first: Field, second: Field) -> Grid | None:
    """A cell for each pair of values. The field with fewer values forms the columns, so that the grid stays narrow.

    None if less than half of the pairs have an arm.
    """
    down, across = (second, first) if len(second.values) > len(first.values) else (first, second)
    arms = {(arm.changes.get(down.name, ""), arm.changes.get(across.name, "")): arm for arm in comparison.arms}
    pairs = [(row, column) for row in down.values for column in across.values]
    if sum(pair in arms for pair in pairs) < len(pairs) / 2:
        return None
    texts = dict(zip((arm.name for arm in comparison.arms), study_text.rows(comparison), strict=True))
    means = [arm.summary.mean for arm in comparison.arms if arm.summary and math.isfinite(arm.summary.mean)]
    best = best_arm(comparison)

    def cell(arm: Arm | None) -> GridCell:
        if arm is None:
            return GridCell("", "not trained", 0, False)
        row = texts[arm.name]
        if arm.summary is None:
            return GridCell("✗" if arm.diverged else formatting.MISSING, "; ".join([arm.name, *row.notes]), 0, False)
        mean = f"{row.mean} ({row.mean_interval})" if row.mean_interval else row.mean
        shade = _shade(arm.summary.mean, means, comparison.higher_is_better)
        text = row.mean + (f" ✗{len(arm.diverged)}" if arm.diverged else "")
        return GridCell(text, "; ".join([f"{arm.name}: {mean}, seeds: {row.seeds}", *row.notes]), shade, arm is best)

    rows = [(row, [cell(arms.get((row, column))) for column in across.values]) for row in down.values]
    return Grid(down, across, rows)


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


def _field(name: str, values: list[str]) -> Field:
    numbers = [_number(value) for value in values]
    if any(math.isnan(number) for number in numbers) or len(set(numbers)) < len(numbers):
        return Field(name, tuple(values), None)
    order = sorted(range(len(values)), key=numbers.__getitem__)
    return Field(name, tuple(values[index] for index in order), tuple(numbers[index] for index in order))


def _number(value: str) -> float:
    """The value as a number; NaN if it is not one."""
    try:
        number = float(value)
    except ValueError:
        return math.nan
    return number if abs(number) <= LARGEST_DRAWABLE else math.nan


def _plain_axis(low: float, high: float) -> axes.Axis:
    padding = 0.05 * (high - low)
    return axes.Axis(low - padding, high + padding, ())


def _field_axis(field: Field, axis: axes.Axis, frame: charts.Frame) -> str:
    """SVG of the x axis with the swept values as labels; a label that would overlap the one before it is left out."""
    assert field.numbers is not None
    body = f'<path class="axis" stroke="#b9c4bd" fill="none" d="M{frame.left:.1f} {frame.bottom:.1f}H{frame.right:.1f}"/>'
    occupied = -math.inf
    for number in field.numbers:
        x, label = frame.x(axis.fraction(number)), formatting.short_number(number)
        body += f'<path class="axis" stroke="#b9c4bd" d="M{x:.1f} {frame.bottom:.1f}v4"/>'
        half = 3.4 * len(label) + 4
        if x - half >= occupied:
            body += f'<text x="{x:.1f}" y="{frame.bottom + 18:.1f}" text-anchor="middle">{label}</text>'
            occupied = x + half
    middle = (frame.left + frame.right) / 2
    return body + f'<text x="{middle:.1f}" y="{frame.bottom + 38:.1f}" text-anchor="middle">{escape(field.name)}</text>'
