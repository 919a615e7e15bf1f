"""A chart of each arm's differences from the first arm, as SVG: a dot per seed, the mean with its interval, the margin."""

from dataclasses import dataclass
from html import escape

from glasshouse import formatting
from glasshouse.pages import axes, charts, study_text
from glasshouse.pages.curve_thinning import LARGEST_DRAWABLE
from glasshouse.results.study import Arm, StudyResults
from glasshouse.verdicts.verdict import BETTER, WORSE

# Number of dash patterns in study.css.
DASHES = 4
NAME_CHARACTERS = 21
# An arm whose largest difference exceeds the next by this factor is left out of the range, so that the others are visible.
OUTLIER_FACTOR = 12.0
TOP, BOTTOM = 26, 44
NO_PAIR = "no seed finished in both arms"
EMPTY, ONE_ARM = "no difference to draw", "only one arm: nothing to compare"


@dataclass(frozen=True)
class Style:
    """The colour of an arm, and a dash pattern that changes once the colours are used up."""

    tone: str
    dash: int

    @property
    def classes(self) -> str:
        """CSS classes."""
        return f"{self.tone} dash-{self.dash}" if self.dash else self.tone


def styles(comparison: StudyResults) -> list[Style]:
    """A style for each arm, in order; the first arm, with which the others are compared, has the quiet colour."""
    if not comparison.arms:
        return []
    first, *others = (
        Style(tone, index // len(charts.TONES) % DASHES) for index, tone in enumerate(charts.tones(len(comparison.arms)))
    )
    others.insert(comparison.arms.index(comparison.first_arm), first)
    return others


def paired_differences(arm: Arm, first: Arm) -> list[float]:
    """The arm's difference from the first arm for each seed that finished in both."""
    shared = (seed for seed in arm.values if seed in first.values)
    differences = (arm.values[seed] - first.values[seed] for seed in shared)
    return [difference for difference in differences if abs(difference) <= LARGEST_DRAWABLE]


def compared_arms(comparison: StudyResults) -> tuple[tuple[Arm, Style, list[float]], ...]:
    """Every arm but the first, with its style and its differences."""
    return tuple(
        (arm, style, paired_differences(arm, comparison.first_arm))
        for arm, style in zip(comparison.arms, styles(comparison), strict=True)
        if arm is not comparison.first_arm
    )


def short_names(comparison: StudyResults, most: int) -> tuple[str, list[str]]:
    """The first arm's short name of at most `most` characters, and those of the others."""
    names = study_text.short_names(study_text.labels(comparison)[1], most)
    first = names.pop(comparison.arms.index(comparison.first_arm))
    return first, names


def value_range(comparison: StudyResults) -> tuple[float, float] | None:
    """The range of the x axis: zero, the margin and every arm except outliers; None if there is nothing to draw."""
    extents = [
        extent
        for arm, _, differences in compared_arms(comparison)
        if (extent := max(map(abs, [0.0, *differences, *mean_and_interval(arm)]))) > 0
    ]
    margin = study_text.margin(comparison)
    margin = margin if 0 < margin <= LARGEST_DRAWABLE else 0.0
    if not extents and not margin:
        return None
    most = limit_without_outliers([max(extent, margin) for extent in extents] or [margin])
    values = [-margin, margin, 0.0]
    for arm, _, differences in compared_arms(comparison):
        values += [value for value in (*differences, *mean_and_interval(arm)) if abs(value) <= most]
    return min(values), max(values)


def limit_without_outliers(extents: list[float]) -> float:
    """The largest extent to show.

    Outliers are the extents above a jump by `OUTLIER_FACTOR`; at least half of the extents must be below the jump.
    """
    ordered = sorted(extents)
    for index in range(len(ordered) // 2 + 1, len(ordered)):
        if ordered[index] > OUTLIER_FACTOR * ordered[index - 1]:
            return ordered[index - 1] * 1.4
    return ordered[-1]


def mean_and_interval(arm: Arm) -> tuple[float, ...]:
    """Mean, lower and upper end of the arm's difference; values that are not finite are left out."""
    if arm.difference is None:
        return ()
    values = (arm.difference.mean, arm.difference.low, arm.difference.high)
    return tuple(value for value in values if abs(value) <= LARGEST_DRAWABLE)


def differences(comparison: StudyResults, width: int = 460) -> str:
    """Draw a row for each arm but the first."""
    arms, limits = compared_arms(comparison), value_range(comparison)
    if not arms or limits is None:
        why = EMPTY if arms else ONE_ARM
        return (
            f'<svg class="chart" viewBox="0 0 {width} 90" role="img" aria-label="{why}">'
            f'<text class="empty" x="{width / 2}" y="48" text-anchor="middle">{why}</text></svg>'
        )
    _, names = short_names(comparison, 2 * NAME_CHARACTERS)
    lines = [_two_lines(name) for name in names]
    row = max(38 if any(len(name_lines) > 1 for name_lines in lines) else 32, min(54, 210 / len(arms)))
    widest = max(len(line) for name_lines in lines for line in name_lines)
    frame = charts.Frame(left=max(70, 6.9 * widest + 14), top=TOP, right=width - 26, bottom=TOP + row * len(arms))
    axis = axes.linear(*limits, tick_count=4)
    if axis.low == 0:
        # `axes.linear` adds no padding below zero; the zero line needs some.
        axis = axes.Axis(-0.05 * axis.high, axis.high, axis.ticks)
    body = _background(comparison, axis, frame)
    for index, ((arm, style, values), name_lines) in enumerate(zip(arms, lines, strict=True)):
        middle = frame.top + row * (index + 0.5)
        body += _row(arm, style, values, name_lines, axis, frame, middle)
    height = frame.bottom + BOTTOM
    label = escape("Differences from the first arm. " + " ".join(_sentence(arm) for arm, _, _ in arms))
    return f'<svg class="chart differences" viewBox="0 0 {width} {height:.0f}" role="img" aria-label="{label}">{body}</svg>'


def remarks(comparison: StudyResults) -> list[str]:
    """Sentences about the arms that are outside the range of the chart."""
    limits, sentences = value_range(comparison), []
    for arm, _, values in compared_arms(comparison):
        outside = [value for value in values if limits and not limits[0] <= value <= limits[1]]
        if outside:
            seeds = f"{len(outside)} of {len(values)} seeds" if len(outside) < len(values) else "every seed"
            sentences.append(f"{arm.name} is outside the chart ({seeds}), so that the other arms can be distinguished.")
    return sentences


def _background(comparison: StudyResults, axis: axes.Axis, frame: charts.Frame) -> str:
    """The margin as a band, the zero line, the x axis, and which direction is better."""
    margin = study_text.margin(comparison)
    body, zero = "", frame.x(axis.fraction(0.0))
    if 0 < margin <= LARGEST_DRAWABLE:
        left, right = (frame.x(min(1.0, max(0.0, axis.fraction(edge)))) for edge in (-margin, margin))
        title = escape(f"the margin: {study_text.margin_in_words(comparison)}")
        body += (
            f'<rect class="band" fill="#e3f1ea" x="{left:.1f}" y="{frame.top:.1f}" width="{right - left:.1f}" '
            f'height="{frame.bottom - frame.top:.1f}"><title>{title}</title></rect>'
        )
    for tick in axis.ticks:
        x = frame.x(axis.fraction(tick))
        body += (
            f'<path class="grid" stroke="#e3e9e5" d="M{x:.1f} {frame.top:.1f}V{frame.bottom:.1f}"/>'
            f'<text x="{x:.1f}" y="{frame.bottom + 17:.1f}" text-anchor="middle">{_signed(tick)}</text>'
        )
    body += f'<path class="zero" stroke="#55645c" d="M{zero:.1f} {frame.top - 4:.1f}V{frame.bottom + 4:.1f}"/>'
    down, up = (WORSE, BETTER) if comparison.higher_is_better else (BETTER, WORSE)
    body += (
        f'<text class="way {down}" x="{frame.left:.1f}" y="{TOP - 11}">← {down}</text>'
        f'<text class="way {up}" x="{frame.right:.1f}" y="{TOP - 11}" text-anchor="end">{up} →</text>'
    )
    first = study_text.labels(comparison)[1][comparison.arms.index(comparison.first_arm)]
    metric, first = study_text.short_names([comparison.metric, first], 24)
    label = f"{metric}, difference from {first}"
    # Centred below the axis; a long label is moved to the left so that it stays inside the drawing.
    middle = min((frame.left + frame.right) / 2, frame.right + 26 - 3.7 * len(label))
    return body + f'<text x="{middle:.1f}" y="{frame.bottom + 36:.1f}" text-anchor="middle">{escape(label)}</text>'


def _row(
    arm: Arm,
    style: Style,
    values: list[float],
    name_lines: list[str],
    axis: axes.Axis,
    frame: charts.Frame,
    middle: float,
) -> str:
    """One arm: its name, the symbol of its verdict, a dot for each seed, and the mean with its interval."""
    body = f"<title>{escape(_sentence(arm))}</title>"
    for index, line in enumerate(name_lines):
        y = middle + 4 + (index - (len(name_lines) - 1) / 2) * 13
        body += f'<text class="name" x="{frame.left - 12:.1f}" y="{y:.1f}" text-anchor="end">{escape(line)}</text>'
    if arm.difference is not None:
        symbol = study_text.SYMBOLS.get(arm.difference.word, "?")
        kind = arm.difference.word.replace(" ", "-")
        body += (
            f'<text class="mark {escape(kind)}" x="{frame.right + 18:.1f}" y="{middle + 5:.1f}" '
            f'text-anchor="middle">{symbol}</text>'
        )
    if not values:
        centre = (frame.left + frame.right) / 2
        body += f'<text class="empty" x="{centre:.1f}" y="{middle + 4:.1f}" text-anchor="middle">{NO_PAIR}</text>'
    colour = charts.LIGHT_COLOURS[style.tone]
    dots = ""
    for index, value in enumerate(values):
        # Multiples of the golden ratio spread any number of dots evenly and are the same every time.
        y = middle + ((index * 0.618034) % 1 - 0.5) * 15
        if 0 <= (fraction := axis.fraction(value)) <= 1:
            dots += f"M{frame.x(fraction):.1f} {y:.1f}h0"
    if dots:
        body += f'<path class="seeds" stroke="{colour}" stroke-width="4" stroke-linecap="round" d="{dots}"/>'
    return f'<g class="row {style.classes}">{body}{_interval(arm, axis, frame, middle, colour)}</g>'


def _interval(arm: Arm, axis: axes.Axis, frame: charts.Frame, middle: float, colour: str) -> str:
    """The mean with its interval; if the mean is outside the chart, an arrow with its value."""
    values = mean_and_interval(arm)
    if not values:
        return ""
    fraction = axis.fraction(values[0])
    if not 0 <= fraction <= 1:
        right = fraction > 1
        x, tip = (frame.right, "M-7 -4L0 0L-7 4") if right else (frame.left, "M7 -4L0 0L7 4")
        return (
            f'<path class="interval" fill="none" stroke="{colour}" transform="translate({x:.1f} {middle:.1f})" d="{tip}"/>'
            f'<text class="name" x="{x + (-12 if right else 12):.1f}" y="{middle + 4:.1f}" '
            f'text-anchor="{"end" if right else "start"}">{formatting.number(values[0], signed=True)}</text>'
        )
    body = ""
    if len(values) == 3:
        low, high = (frame.x(min(1.0, max(0.0, axis.fraction(edge)))) for edge in values[1:])
        body = (
            f'<path class="interval" fill="none" stroke="{colour}" stroke-width="2.2" '
            f'd="M{low:.1f} {middle - 5:.1f}v10m0 -5H{high:.1f}m0 -5v10"/>'
        )
    x = frame.x(fraction)
    diamond = f"M{x:.1f} {middle - 6:.1f}l5 6l-5 6l-5 -6z"
    return body + f'<path class="mean" fill="{colour}" stroke="#fcfdfb" d="{diamond}"/>'


def _signed(tick: float) -> str:
    text = formatting.short_number(tick)
    return f"+{text}" if tick > 0 else text


def _sentence(arm: Arm) -> str:
    return arm.difference.sentence if arm.difference else f"{arm.name}: no result."


def _two_lines(name: str) -> list[str]:
    """A name on one line, or a long name on two; it is split after a comma, a space or a similar character if possible."""
    if len(name) <= NAME_CHARACTERS:
        return [name]
    breaks = [end for end in range(1, NAME_CHARACTERS + 1) if name[end - 1] in ", =._-…"]
    split = max((end for end in breaks if len(name) - end <= NAME_CHARACTERS), default=NAME_CHARACTERS)
    return [name[:split].rstrip(), name[split:].lstrip()]
