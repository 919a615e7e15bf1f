"""A chart of each arm's differences from the first arm, a dot per seed, the mean with its interval, the margin."""

from dataclasses import replace

from glasshouse import formatting
from glasshouse.formatting import LARGEST_DRAWABLE
from glasshouse.pages import chart
from glasshouse.pages.chart import DASHES, Axis, Band, Chart, Dots, Interval, Line, MarkGroup, Text
from glasshouse.pages.colours import TONES, tones
from glasshouse.results import study_text
from glasshouse.results.study import Arm, StudyResults
from glasshouse.verdicts.verdict import BETTER, WORSE

NAME_CHARACTERS = 21
# An arm whose largest difference exceeds the next by this factor is left out of the range, so that the others are visible.
OUTLIER_FACTOR = 12.0
NO_PAIR = "no seed finished in both arms"
EMPTY, ONE_ARM = "no difference to draw", "only one arm: nothing to compare"


def styles(comparison: StudyResults) -> list[MarkGroup]:
    """The colour and the dash of each arm, in order; the first, with which the others are compared, has the quiet colour."""
    if not comparison.arms:
        return []
    first, *others = (
        MarkGroup((), tone=tone, dash=index // len(TONES) % len(DASHES))
        for index, tone in enumerate(tones(len(comparison.arms)))
    )
    others.insert(comparison.arms.index(comparison.first_arm), first)
    return others


def paired_differences(arm: Arm, first: Arm) -> list[float]:
    """The arm's difference from the first arm for each seed that finished in both."""
    shared = (seed for seed in arm.values if seed in first.values)
    differences = (arm.values[seed] - first.values[seed] for seed in shared)
    return [difference for difference in differences if abs(difference) <= LARGEST_DRAWABLE]


def compared_arms(comparison: StudyResults) -> tuple[tuple[Arm, MarkGroup, list[float]], ...]:
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


def differences(comparison: StudyResults) -> Chart:
    arms, limits = compared_arms(comparison), value_range(comparison)
    if not arms or limits is None:
        return Chart(EMPTY if arms else ONE_ARM)
    _, names = short_names(comparison, 2 * NAME_CHARACTERS)
    labels = tuple(map(_two_lines, names))
    rows = Axis(len(arms) - 0.5, -0.5, tuple(map(float, range(len(arms)))), labels=labels)
    height = max(38 if any("\n" in label for label in labels) else 32, min(54, 210 / len(arms)))
    axis = chart.linear(*limits, tick_count=4)
    if axis.low == 0:
        # `chart.linear` adds no padding below zero; the zero line needs some.
        axis = replace(axis, low=-0.05 * axis.high)
    axis = replace(axis, labels=tuple(("+" if tick > 0 else "") + formatting.short_number(tick) for tick in axis.ticks))
    series, texts = [], _directions(comparison)
    for row, (arm, style, values) in enumerate(arms):
        series.append(_arm_series(arm, style, values, row))
        texts += _arm_texts(arm, values, axis, rows.fraction(row))
    first = study_text.labels(comparison)[1][comparison.arms.index(comparison.first_arm)]
    metric, first = study_text.short_names([comparison.metric, first], 24)
    return Chart(
        "Differences from the first arm. " + " ".join(_sentence(arm) for arm, _, _ in arms),
        axis,
        {"linear": rows},
        [*_background(comparison, axis, rows), *series],
        texts,
        f"{metric}, difference from {first}",
        grid="x",
        height=round(height * len(arms)) + 72,
        above=16,
        beside=18,
    )


def remarks(comparison: StudyResults) -> list[str]:
    limits, sentences = value_range(comparison), []
    for arm, _, values in compared_arms(comparison):
        outside = [value for value in values if limits and not limits[0] <= value <= limits[1]]
        if outside:
            seeds = f"{len(outside)} of {len(values)} seeds" if len(outside) < len(values) else "every seed"
            sentences.append(f"{arm.name} is outside the chart ({seeds}), so that the other arms can be distinguished.")
    return sentences


def _background(comparison: StudyResults, axis: Axis, rows: Axis) -> list[MarkGroup]:
    """The margin as a band, and the line of no difference."""
    margin, ends = study_text.margin(comparison), (rows.low, rows.high)
    zero = MarkGroup([Line((0, 0), ends, width=1.2)], tone="soft")
    if not 0 < margin <= LARGEST_DRAWABLE:
        return [zero]
    edges = max(-margin, axis.low), min(margin, axis.high)
    band = Band(edges, (ends[0],) * 2, (ends[1],) * 2, opacity=1)
    about = f"the margin: {study_text.margin_in_words(comparison)}"
    return [MarkGroup([band], tone="accent-wash", about=about), zero]


def _directions(comparison: StudyResults) -> list[Text]:
    down, up = (WORSE, BETTER) if comparison.higher_is_better else (BETTER, WORSE)
    return [
        Text(f"← {down}", 0, 1, up=15, anchor="start", tone=down),
        Text(f"{up} →", 1, 1, up=15, anchor="end", tone=up),
    ]


def _arm_series(arm: Arm, style: MarkGroup, values: list[float], row: int) -> MarkGroup:
    """A dot for each seed, and the mean with its interval."""
    # Multiples of the golden ratio spread any number of dots evenly and are the same every time.
    heights = [row + ((index * 0.618034) % 1 - 0.5) * 0.42 for index in range(len(values))]
    mean, *ends = mean_and_interval(arm) or (None,)
    interval = [Interval(row, *ends, across=True, cap=5)] if len(ends) == 2 else []
    diamond = [Dots([mean], [row], size=11, shape="diamond")] if mean is not None else []
    return MarkGroup(
        [Dots(values, heights, size=4.4, opacity=0.4), *interval, *diamond], tone=style.tone, about=_sentence(arm)
    )


def _arm_texts(arm: Arm, values: list[float], axis: Axis, height: float) -> list[Text]:
    """The symbol of the verdict; the value of a mean outside the chart, with an arrow."""
    texts = []
    if arm.difference is not None:
        word = arm.difference.word
        tone = word if word in (BETTER, WORSE) else "soft"
        texts.append(Text(study_text.SYMBOLS.get(word, "?"), 1, height, right=16, tone=tone, bold=True))
    if not values:
        texts.append(Text(NO_PAIR, 0.5, height, tone="faint"))
    mean, *_ = mean_and_interval(arm) or (0.0,)
    if not axis.low <= mean <= axis.high:
        right, value = mean > axis.high, formatting.number(mean, signed=True)
        place, anchor = (1, "end") if right else (0, "start")
        texts.append(Text(f"{value} →" if right else f"← {value}", place, height, anchor=anchor, tone="ink"))
    return texts


def _sentence(arm: Arm) -> str:
    return arm.difference.sentence if arm.difference else f"{arm.name}: no result."


def _two_lines(name: str) -> str:
    """A name on one line, or a long name on two; it is split after a comma, a space or a similar character if possible."""
    if len(name) <= NAME_CHARACTERS:
        return name
    breaks = [end for end in range(1, NAME_CHARACTERS + 1) if name[end - 1] in ", =._-…"]
    split = max((end for end in breaks if len(name) - end <= NAME_CHARACTERS), default=NAME_CHARACTERS)
    return f"{name[:split].rstrip()}\n{name[split:].lstrip()}"
