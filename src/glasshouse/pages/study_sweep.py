"""What a sweep found: the metric against a numeric field as a line, against two fields as a grid of shaded cells."""

import math
from dataclasses import dataclass
from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages import axes, charts, study_text
from glasshouse.pages.curve_thinning import LARGEST_DRAWABLE
from glasshouse.pages.study_content import Arm, StudyResults

FEWEST_VALUES = 3
SHADES = 5


@dataclass(frozen=True)
class Field:
    """A swept field with its values as given, in order of size where they are numbers."""

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None


@dataclass(frozen=True)
class Cell:
    written: str
    title: str
    shade: int
    best: bool


@dataclass(frozen=True)
class Grid:
    down: Field
    across: Field
    rows: list[tuple[str, list[Cell]]]


@dataclass(frozen=True)
class Sweep:
    lines: list[tuple[str, str]]  # (field, drawing)
    grid: Grid | None
    best: str  # which arm is best, in words
    several: bool  # whether the lines run over arms that differ in other fields too


def sweep(comparison: StudyResults) -> Sweep | None:
    """The pictures of a sweep, or None where no field was swept: a line needs a few numbers, a grid two fields."""
    swept = fields(comparison)
    numeric = [field for field in swept if field.numbers and len(field.values) >= FEWEST_VALUES]
    grid = _grid(comparison, *swept) if len(swept) == 2 else None
    if grid is None and not numeric:
        return None
    lines = [] if grid else [(field.name, line(comparison, field)) for field in numeric]
    found = best(comparison)
    several = len(swept) > 1
    if found is None or found.summary is None:
        return Sweep(lines, grid, "", several)
    row = study_text.rows(comparison)[comparison.arms.index(found)]
    told = f"{found.name}: {row.mean}" + (f" ({row.interval})" if row.interval else "")
    return Sweep(lines, grid, told, several)


def fields(comparison: StudyResults) -> list[Field]:
    """The fields that differ between the arms that name them all."""
    return [_field(name, values) for name, values in study_text.changed(comparison).items() if len(values) > 1]


def best(comparison: StudyResults) -> Arm | None:
    """The arm with the best mean, of those with as few lost seeds as any."""
    sound = [arm for arm in comparison.arms if arm.summary and math.isfinite(arm.summary.mean)]
    sign = -1 if comparison.higher_is_better else 1
    return min(sound, key=lambda arm: (len(arm.diverged), sign * arm.summary.mean), default=None)  # type: ignore[union-attr]


def logarithmic(numbers: tuple[float, ...]) -> bool:
    """Whether values are spaced by ratios rather than by differences."""
    if len(numbers) < 3 or min(numbers) <= 0:
        return False
    unevenness = [np.std(gaps) / np.mean(gaps) for gaps in (np.diff(numbers), np.diff(np.log(numbers)))]
    return bool(unevenness[1] < unevenness[0])


def line(comparison: StudyResults, field: Field, width: int = 460, height: int = 290) -> str:
    """The metric over one field. Dots are seeds and the line is their mean; where other fields vary too, dots are the
    means of arms and the line joins the best of each value."""
    assert field.numbers is not None
    alone = len(fields(comparison)) == 1
    columns = [
        (number, _column(comparison, field.name, value, alone))
        for number, value in zip(field.numbers, field.values, strict=True)
    ]
    known = charts.finite([np.array([*column.dots, *column.bar]) for _, column in columns])
    if not len(known):
        return (
            f'<svg class="chart" viewBox="0 0 {width} 90" role="img" aria-label="nothing to draw">'
            f'<text class="empty" x="{width / 2}" y="48" text-anchor="middle">no seed came through</text></svg>'
        )
    log = charts.allow_log(known) and known.max() > 20 * known.min()
    up = (axes.logarithmic if log else axes.linear)(known.min(), known.max())
    numbers = field.numbers
    across = axes.logarithmic(numbers[0], numbers[-1]) if logarithmic(numbers) else _plain_axis(numbers[0], numbers[-1])
    left = max(30, 7.2 * max(len(formatting.short_number(tick)) for tick in up.ticks) + 12) if up.ticks else 40
    frame = charts.Frame(left=left, top=24, right=width - 10, bottom=height - 48)
    body = charts.value_axis(up, frame) + _field_axis(field, across, frame)
    accent = charts.FALLBACK_COLOURS["accent"]
    path = dots = bars = ""
    for number, column in columns:
        x = frame.x(across.fraction(number))
        for index, value in enumerate(column.dots):
            # Beside the interval, so that neither hides the other.
            beside = x + 6 + (index * 0.618034) % 1 * 7 if alone else x
            dots += f"M{beside:.1f} {frame.y(up.fraction(value)):.1f}h0"
        if column.bar:
            low, high = (frame.y(up.fraction(edge)) for edge in column.bar[1:]) if len(column.bar) == 3 else (0, 0)
            y = frame.y(up.fraction(column.bar[0]))
            path += f"{'L' if path else 'M'}{x:.1f} {y:.1f}"
            bars += f"M{x - 3:.1f} {low:.1f}h6m-3 0V{high:.1f}m-3 0h6" if len(column.bar) == 3 else ""
        if column.lost:
            body += f'<text class="lost" x="{x:.1f}" y="{frame.top - 8:.1f}" text-anchor="middle">✗{column.lost}</text>'
    body += (
        f'<g class="curve accent"><path class="seeds" stroke="{accent}" stroke-width="4" stroke-linecap="round" d="{dots}"/>'
        f'<path class="interval" fill="none" stroke="{accent}" d="{bars}"/>'
        f'<path class="line" fill="none" stroke="{accent}" stroke-width="2" d="{path}"/></g>'
    )
    found = best(comparison)
    if found and found.summary and field.name in found.changes:
        number = _number(found.changes[field.name])
        x, y = frame.x(across.fraction(number)), frame.y(up.fraction(found.summary.mean))
        body += (
            f'<circle class="best" fill="none" stroke="#18221d" cx="{x:.1f}" cy="{y:.1f}" r="8"><title>best</title></circle>'
        )
    told = escape(f"{comparison.metric} against {field.name}")
    return f'<svg class="chart sweep" viewBox="0 0 {width} {height}" role="img" aria-label="{told}">{body}</svg>'


@dataclass(frozen=True)
class _Column:
    """What stands above one value of a field."""

    dots: list[float]
    bar: tuple[float, ...]  # mean, low, high; or a mean alone; or nothing
    lost: int  # seeds that diverged


def _column(comparison: StudyResults, name: str, value: str, alone: bool) -> _Column:
    arms = [arm for arm in comparison.arms if arm.changes.get(name) == value]
    lost = sum(len(arm.diverged) for arm in arms)
    means = [arm.summary.mean for arm in arms if arm.summary and abs(arm.summary.mean) <= LARGEST_DRAWABLE]
    if not alone:
        chosen = (max if comparison.higher_is_better else min)(means, default=None)
        return _Column(means, () if chosen is None else (chosen,), lost)
    dots = [value for arm in arms for value in arm.values.values() if abs(value) <= LARGEST_DRAWABLE]
    bar: tuple[float, ...] = tuple(means[:1])
    for summary in (arm.summary for arm in arms):
        if bar and summary and math.isfinite(summary.low) and math.isfinite(summary.high):
            bar = (summary.mean, summary.low, summary.high)
    return _Column(dots, bar, lost)


def _grid(comparison: StudyResults, first: Field, second: Field) -> Grid | None:
    """A cell for each pair of values; the field with fewer values goes across, so that the grid stays narrow."""
    down, across = (second, first) if len(second.values) > len(first.values) else (first, second)
    cells = {(arm.changes.get(down.name, ""), arm.changes.get(across.name, "")): arm for arm in comparison.arms}
    wanted = [(high, wide) for high in down.values for wide in across.values]
    if sum(pair in cells for pair in wanted) < len(wanted) / 2:
        return None
    written = dict(zip((arm.name for arm in comparison.arms), study_text.rows(comparison), strict=True))
    means = [arm.summary.mean for arm in comparison.arms if arm.summary and math.isfinite(arm.summary.mean)]
    found = best(comparison)

    def cell(arm: Arm | None) -> Cell:
        if arm is None:
            return Cell("", "not tried", 0, False)
        row = written[arm.name]
        if arm.summary is None:
            return Cell("✗" if arm.diverged else formatting.NOTHING, "; ".join([arm.name, *row.notes]), 0, False)
        seeds = f"{row.mean} ({row.interval}), seeds: {row.seeds}" if row.interval else f"{row.mean}, seeds: {row.seeds}"
        shade = _shade(arm.summary.mean, means, comparison.higher_is_better)
        shown = row.mean + (f" ✗{len(arm.diverged)}" if arm.diverged else "")
        return Cell(shown, "; ".join([f"{arm.name}: {seeds}", *row.notes]), shade, arm is found)

    rows = [(high, [cell(cells.get((high, wide))) for wide in across.values]) for high in down.values]
    return Grid(down, across, rows)


def _shade(mean: float, means: list[float], higher_is_better: bool) -> int:
    """The best is darkest. What is far worse than most counts as the worst, so that it does not flatten the rest."""
    if not math.isfinite(mean):
        return 0
    behind = np.array(sorted(means)) - (max(means) if higher_is_better else min(means))
    furthest = min(np.abs(behind).max(), 3 * np.median(np.abs(behind)) or np.abs(behind).max())
    own = abs(mean - (max(means) if higher_is_better else min(means)))
    return SHADES if furthest == 0 else round(SHADES * (1 - min(1.0, own / furthest)))


def _field(name: str, values: list[str]) -> Field:
    numbers = [_number(value) for value in values]
    if any(math.isnan(number) for number in numbers) or len(set(numbers)) < len(numbers):
        return Field(name, tuple(values), None)
    order = sorted(range(len(values)), key=numbers.__getitem__)
    return Field(name, tuple(values[place] for place in order), tuple(numbers[place] for place in order))


def _number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        return math.nan
    return number if abs(number) <= LARGEST_DRAWABLE else math.nan


def _plain_axis(low: float, high: float) -> axes.Axis:
    room = 0.05 * (high - low)
    return axes.Axis(low - room, high + room, ())


def _field_axis(field: Field, axis: axes.Axis, frame: charts.Frame) -> str:
    """The values themselves below the line, as many as find room."""
    assert field.numbers is not None
    body = f'<path class="axis" stroke="#b9c4bd" fill="none" d="M{frame.left:.1f} {frame.bottom:.1f}H{frame.right:.1f}"/>'
    free = -math.inf
    for number in field.numbers:
        x, label = frame.x(axis.fraction(number)), formatting.short_number(number)
        body += f'<path class="axis" stroke="#b9c4bd" d="M{x:.1f} {frame.bottom:.1f}v4"/>'
        half = 3.4 * len(label) + 4
        if x - half >= free:
            body += f'<text x="{x:.1f}" y="{frame.bottom + 18:.1f}" text-anchor="middle">{label}</text>'
            free = x + half
    middle = (frame.left + frame.right) / 2
    return body + f'<text x="{middle:.1f}" y="{frame.bottom + 38:.1f}" text-anchor="middle">{escape(field.name)}</text>'
