"""The differences of a study's arms from the first as SVG: a dot for each seed, mean and interval, the margin as a band."""

from dataclasses import dataclass
from html import escape

from glasshouse import formatting
from glasshouse.pages import axes, charts, study_text
from glasshouse.pages.curve_thinning import LARGEST_DRAWABLE
from glasshouse.pages.study_content import Arm, StudyResults

DASHES = 4
NAME_CHARACTERS = 21
# Where one arm lies so many times further out than the others, it leaves the picture so that they can be seen.
FAR = 12.0
TOP, BELOW = 26, 44
NO_PAIR = "no pair of seeds came through"


@dataclass(frozen=True)
class Style:
    """How an arm is told from the others: a tone, and a dash once the tones are used up."""

    tone: str
    dash: int

    @property
    def classes(self) -> str:
        return f"{self.tone} dash-{self.dash}" if self.dash else self.tone


def styles(how_many: int) -> list[Style]:
    """A style for each arm, in order; the first arm, which the others are held against, is the quiet one."""
    tones = charts.tones(how_many)
    return [Style(tone, index // len(charts.TONES) % DASHES) for index, tone in enumerate(tones)]


def paired(arm: Arm, first: Arm) -> list[float]:
    """The arm's difference from the first, seed by seed, where both came through."""
    shared = (seed for seed in arm.values if seed in first.values)
    found = (arm.values[seed] - first.values[seed] for seed in shared)
    return [difference for difference in found if abs(difference) <= LARGEST_DRAWABLE]


def drawable(comparison: StudyResults) -> tuple[tuple[Arm, Style, list[float]], ...]:
    """The arms that are compared, with their styles and differences."""
    first = comparison.arms[:1]
    looks = styles(len(comparison.arms))
    return tuple((arm, look, paired(arm, first[0])) for arm, look in zip(comparison.arms[1:], looks[1:], strict=True))


def limits(comparison: StudyResults) -> tuple[float, float] | None:
    """The range to show: zero, the margin and every arm, but for arms so far out that the rest would not be seen."""
    reach = [
        reach
        for arm, _, differences in drawable(comparison)
        if (reach := max(map(abs, [0.0, *differences, *bounds(arm)]))) > 0
    ]
    margin = study_text.margin(comparison)
    margin = margin if 0 < margin <= LARGEST_DRAWABLE else 0.0
    if not reach and not margin:
        return None
    most = without_far([max(each, margin) for each in reach] or [margin])
    everything = [-margin, margin, 0.0]
    for arm, _, differences in drawable(comparison):
        everything += [value for value in (*differences, *bounds(arm)) if abs(value) <= most]
    return min(everything), max(everything)


def without_far(reaches: list[float]) -> float:
    """The furthest of these to show: the largest, or where it jumps far out after more than half of them, the one before."""
    ordered = sorted(reaches)
    for place in range(len(ordered) // 2 + 1, len(ordered)):
        if ordered[place] > FAR * ordered[place - 1]:
            return ordered[place - 1] * 1.4
    return ordered[-1]


def bounds(arm: Arm) -> tuple[float, ...]:
    """Mean and interval of the difference, as far as they are known."""
    if arm.difference is None:
        return ()
    found = (arm.difference.mean, arm.difference.low, arm.difference.high)
    return tuple(value for value in found if abs(value) <= LARGEST_DRAWABLE)


def differences(comparison: StudyResults, width: int = 460) -> str:
    """A row for each arm but the first."""
    arms, shown = drawable(comparison), limits(comparison)
    if not arms or shown is None:
        why = "no difference to draw" if arms else "nothing to compare with"
        return (
            f'<svg class="chart" viewBox="0 0 {width} 90" role="img" aria-label="{why}">'
            f'<text class="empty" x="{width / 2}" y="48" text-anchor="middle">{why}</text></svg>'
        )
    names = study_text.short_names(study_text.labels(comparison)[1], 2 * NAME_CHARACTERS)[1:]
    lines = [_two_lines(name) for name in names]
    row = max(38 if any(len(each) > 1 for each in lines) else 32, min(54, 210 / len(arms)))
    widest = max(len(line) for each in lines for line in each)
    frame = charts.Frame(left=max(70, 6.9 * widest + 14), top=TOP, right=width - 26, bottom=TOP + row * len(arms))
    axis = axes.linear(*shown, about=4)
    if axis.low == 0:
        # Room for the zero line; axes for losses leave none.
        axis = axes.Axis(-0.05 * axis.high, axis.high, axis.ticks)
    body = _ground(comparison, axis, frame)
    for place, ((arm, style, values), words) in enumerate(zip(arms, lines, strict=True)):
        middle = frame.top + row * (place + 0.5)
        body += _row(arm, style, values, words, axis, frame, middle)
    height = frame.bottom + BELOW
    label = escape("Differences from the first arm. " + " ".join(_told(arm) for arm, _, _ in arms))
    return f'<svg class="chart differences" viewBox="0 0 {width} {height:.0f}" role="img" aria-label="{label}">{body}</svg>'


def remarks(comparison: StudyResults) -> list[str]:
    """What the picture leaves out."""
    shown, found = limits(comparison), []
    for arm, _, values in drawable(comparison):
        outside = [value for value in values if shown and not shown[0] <= value <= shown[1]]
        if outside:
            seeds = f"{len(outside)} of {len(values)} seeds" if len(outside) < len(values) else "every seed"
            found.append(f"{arm.name} lies beyond the edge ({seeds}), so that the others can be told apart.")
    return found


def _ground(comparison: StudyResults, axis: axes.Axis, frame: charts.Frame) -> str:
    """The band of the margin, the zero line, the scale, and which side is better."""
    margin = study_text.margin(comparison)
    body, zero = "", frame.x(axis.fraction(0.0))
    if 0 < margin <= LARGEST_DRAWABLE:
        left, right = (frame.x(min(1.0, max(0.0, axis.fraction(edge)))) for edge in (-margin, margin))
        told = escape(f"the margin: {study_text.margin_in_words(comparison)}")
        body += (
            f'<rect class="band" fill="#e3f1ea" x="{left:.1f}" y="{frame.top:.1f}" width="{right - left:.1f}" '
            f'height="{frame.bottom - frame.top:.1f}"><title>{told}</title></rect>'
        )
    for tick in axis.ticks:
        x = frame.x(axis.fraction(tick))
        body += (
            f'<path class="grid" stroke="#e3e9e5" d="M{x:.1f} {frame.top:.1f}V{frame.bottom:.1f}"/>'
            f'<text x="{x:.1f}" y="{frame.bottom + 17:.1f}" text-anchor="middle">{_signed(tick)}</text>'
        )
    body += f'<path class="zero" stroke="#55645c" d="M{zero:.1f} {frame.top - 4:.1f}V{frame.bottom + 4:.1f}"/>'
    down, up = ("worse", "better") if comparison.higher_is_better else ("better", "worse")
    body += (
        f'<text class="way {down}" x="{frame.left:.1f}" y="{TOP - 11}">← {down}</text>'
        f'<text class="way {up}" x="{frame.right:.1f}" y="{TOP - 11}" text-anchor="end">{up} →</text>'
    )
    metric, first = study_text.short_names([comparison.metric, study_text.labels(comparison)[1][0]], 24)
    told = f"{metric}, difference from {first}"
    # In the middle of the scale, or as near to it as a long one finds room.
    middle = min((frame.left + frame.right) / 2, frame.right + 26 - 3.7 * len(told))
    return body + f'<text x="{middle:.1f}" y="{frame.bottom + 36:.1f}" text-anchor="middle">{escape(told)}</text>'


def _row(
    arm: Arm,
    style: Style,
    values: list[float],
    words: list[str],
    axis: axes.Axis,
    frame: charts.Frame,
    middle: float,
) -> str:
    body = f"<title>{escape(_told(arm))}</title>"
    for line, word in enumerate(words):
        y = middle + 4 + (line - (len(words) - 1) / 2) * 13
        body += f'<text class="name" x="{frame.left - 12:.1f}" y="{y:.1f}" text-anchor="end">{escape(word)}</text>'
    if arm.difference is not None:
        mark = study_text.MARKS.get(arm.difference.word, "?")
        kind = arm.difference.word.replace(" ", "-")
        body += (
            f'<text class="mark {escape(kind)}" x="{frame.right + 18:.1f}" y="{middle + 5:.1f}" '
            f'text-anchor="middle">{mark}</text>'
        )
    if not values:
        where = (frame.left + frame.right) / 2
        body += f'<text class="empty" x="{where:.1f}" y="{middle + 4:.1f}" text-anchor="middle">{NO_PAIR}</text>'
    colour = charts.FALLBACK_COLOURS[style.tone]
    dots = ""
    for index, value in enumerate(values):
        # The golden ratio spreads any number of dots evenly, and the same way each time.
        y = middle + ((index * 0.618034) % 1 - 0.5) * 15
        if 0 <= (fraction := axis.fraction(value)) <= 1:
            dots += f"M{frame.x(fraction):.1f} {y:.1f}h0"
    if dots:
        body += f'<path class="seeds" stroke="{colour}" stroke-width="4" stroke-linecap="round" d="{dots}"/>'
    return f'<g class="row {style.classes}">{body}{_bar(arm, axis, frame, middle, colour)}</g>'


def _bar(arm: Arm, axis: axes.Axis, frame: charts.Frame, middle: float, colour: str) -> str:
    """Mean and interval; where the mean is beyond the edge, an arrow with its value."""
    found = bounds(arm)
    if not found:
        return ""
    fraction = axis.fraction(found[0])
    if not 0 <= fraction <= 1:
        right = fraction > 1
        x, tip = (frame.right, "M-7 -4L0 0L-7 4") if right else (frame.left, "M7 -4L0 0L7 4")
        return (
            f'<path class="interval" fill="none" stroke="{colour}" transform="translate({x:.1f} {middle:.1f})" d="{tip}"/>'
            f'<text class="name" x="{x + (-12 if right else 12):.1f}" y="{middle + 4:.1f}" '
            f'text-anchor="{"end" if right else "start"}">{formatting.number(found[0], signed=True)}</text>'
        )
    body = ""
    if len(found) == 3:
        low, high = (frame.x(min(1.0, max(0.0, axis.fraction(edge)))) for edge in found[1:])
        body = (
            f'<path class="interval" fill="none" stroke="{colour}" stroke-width="2.2" '
            f'd="M{low:.1f} {middle - 5:.1f}v10m0 -5H{high:.1f}m0 -5v10"/>'
        )
    x = frame.x(fraction)
    diamond = f"M{x:.1f} {middle - 6:.1f}l5 6l-5 6l-5 -6z"
    return body + f'<path class="mean" fill="{colour}" stroke="#fcfdfb" d="{diamond}"/>'


def _signed(tick: float) -> str:
    written = formatting.short_number(tick)
    return f"+{written}" if tick > 0 else written


def _told(arm: Arm) -> str:
    return arm.difference.sentence if arm.difference else f"{arm.name}: no seed came through."


def _two_lines(name: str) -> list[str]:
    """A name on one line, or on two where it is long, broken after a comma or a space where there is one."""
    if len(name) <= NAME_CHARACTERS:
        return [name]
    breaks = [place for place in range(1, NAME_CHARACTERS + 1) if name[place - 1] in ", =._-…"]
    at = max((place for place in breaks if len(name) - place <= NAME_CHARACTERS), default=NAME_CHARACTERS)
    return [name[:at].rstrip(), name[at:].lstrip()]
