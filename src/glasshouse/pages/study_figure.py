"""A study's differences and curves side by side as a picture file, SVG or PNG by suffix. Needs no display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glasshouse import formatting
from glasshouse.pages import axes, charts, figures, study_curves, study_differences, study_text
from glasshouse.pages.study_content import StudyResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND = "#e3f1ea"
ALARM = "#a63d24"
DASHES = ("-", (0, (5, 2)), (0, (1.5, 2)), (0, (6, 2, 1.5, 2)))
NAME_CHARACTERS = 34
MOST_INSIDE = 6


def draw(comparison: StudyResults, path: str | Path) -> None:
    """Write the figure: a row for each arm's differences from the first, and every seed's curve beside it."""
    rows = max(1, len(comparison.arms) - 1)
    figure = figures.new(11.0, max(4.0, 1.5 + 0.42 * rows), path)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    _differences(comparison, left)
    _curves(comparison, right)
    figures.write(figure, path)


def _differences(comparison: StudyResults, panel: Axes) -> None:
    arms, shown = study_differences.drawable(comparison), study_differences.limits(comparison)
    if not arms or shown is None:
        _empty(panel, "no difference to draw" if arms else "nothing to compare with")
        return
    axis = axes.linear(*shown, about=4)
    margin = study_text.margin(comparison)
    if 0 < margin <= shown[1] * 1.0001:
        panel.axvspan(-margin, margin, color=BAND, linewidth=0)
    panel.axvline(0, color=figures.SOFT, linewidth=1)
    for row, (arm, style, values) in enumerate(arms):
        colour = charts.FALLBACK_COLOURS[style.tone]
        heights = [row + ((index * 0.618034) % 1 - 0.5) * 0.44 for index in range(len(values))]
        panel.scatter(values, heights, s=11, color=colour, alpha=0.4, linewidths=0)
        if not values:
            middle = (axis.low + axis.high) / 2
            panel.text(middle, row, study_differences.NO_PAIR, ha="center", va="center", fontsize=8, color=figures.SOFT)
        found = study_differences.bounds(arm)
        if len(found) == 3:
            panel.errorbar(found[0], row, xerr=[[found[0] - found[1]], [found[2] - found[0]]], color=colour, capsize=3)
        if found and axis.low <= found[0] <= axis.high:
            panel.plot(found[0], row, marker="D", markersize=6, color=colour, markeredgecolor="white")
        elif found:
            at_right = found[0] > axis.high
            panel.annotate(
                f"{formatting.number(found[0], signed=True)} →"
                if at_right
                else f"← {formatting.number(found[0], signed=True)}",
                (1 if at_right else 0, row),
                xycoords=("axes fraction", "data"),
                ha="right" if at_right else "left",
                va="center",
                fontsize=8.5,
                color=figures.INK,
            )
        if arm.difference:
            colours = {"better": charts.FALLBACK_COLOURS["accent"], "worse": ALARM}
            panel.annotate(
                study_text.MARKS.get(arm.difference.word, "?"),
                (1, row),
                (8, 0),
                ("axes fraction", "data"),
                "offset points",
                va="center",
                ha="center",
                weight="bold",
                color=colours.get(arm.difference.word, figures.SOFT),
                annotation_clip=False,
            )
    heading, named = study_text.labels(comparison)
    names = study_text.short_names(named, NAME_CHARACTERS)[1:]
    panel.set_ylabel(_plain_text(heading), color=figures.SOFT)
    panel.set_yticks(range(len(arms)), [_plain_text(name) for name in names])
    panel.set_ylim(len(arms) - 0.5, -0.5)
    panel.set_xlim(axis.low, axis.high)
    signed = [f"{'+' if tick > 0 else ''}{formatting.short_number(tick)}" for tick in axis.ticks]
    panel.set_xticks(axis.ticks, signed)
    first = study_text.short_names(named[:1], NAME_CHARACTERS)[0]
    told = f"{comparison.metric}, difference from {first}"
    panel.set_xlabel(_plain_text(told if len(told) <= 48 else told.replace(", ", ",\n", 1)), color=figures.SOFT)
    for place, side, word in _sides(comparison):
        colour = charts.FALLBACK_COLOURS["accent"] if "better" in word else ALARM
        panel.annotate(word, (place, 1), (0, 5), "axes fraction", "offset points", ha=side, color=colour, fontsize=9)
    figures.plain(panel)
    panel.grid(visible=False, axis="y")
    panel.tick_params(axis="y", labelcolor=figures.INK)


def _sides(comparison: StudyResults) -> tuple[tuple[float, str, str], ...]:
    left, right = ("worse", "better") if comparison.higher_is_better else ("better", "worse")
    return ((0.0, "left", f"← {left}"), (1.0, "right", f"{right} →"))


def _curves(comparison: StudyResults, panel: Axes) -> None:
    drawn = study_curves.fans(comparison)
    scales = study_curves.ranges(drawn)
    if not scales:
        _empty(panel, "no curve yet")
        return
    axis = scales[study_curves.first_shown(scales)]
    for fan in drawn:
        colour = charts.FALLBACK_COLOURS[fan.style.tone]
        for steps, values in fan.seeds.values():
            alone = len(steps) == 1
            panel.plot(
                steps,
                study_curves.within(values, axis),
                color=colour,
                linewidth=0.6,
                alpha=0.38,
                marker="." if alone else None,
            )
        for step, value in study_curves.ends(fan):
            panel.plot(step, min(max(value, axis.low), axis.high), marker="x", color=colour, markersize=6, clip_on=False)
    heading, named = study_text.labels(comparison)
    names = study_text.short_names(named, NAME_CHARACTERS)
    for fan, name in zip(drawn, names, strict=True):
        steps, values = fan.mean
        panel.plot(
            steps,
            study_curves.within(values, axis),
            color=charts.FALLBACK_COLOURS[fan.style.tone],
            linewidth=1.9,
            linestyle=DASHES[fan.style.dash],
            label=_plain_text(name),
            marker="o" if len(steps) == 1 else None,
        )
    panel.set_ylim(axis.low, axis.high)
    panel.set_yticks(axis.ticks, [formatting.short_number(tick) for tick in axis.ticks])
    panel.set_xlabel("step", color=figures.SOFT)
    panel.set_title(_plain_text(study_text.curve(comparison)), loc="left", fontsize=10, color=figures.SOFT)
    figures.plain(panel)
    # Beside the curves where it would cover them.
    beside = len(drawn) > MOST_INSIDE
    legend = panel.legend(
        frameon=False,
        labelcolor=figures.INK,
        fontsize=8.5,
        title=_plain_text(heading),
        loc="upper left" if beside else "best",
        bbox_to_anchor=(1.0, 1.0) if beside else None,
    )
    legend.get_title().set(fontsize=8.5, color=figures.SOFT)


def _empty(panel: Axes, words: str) -> None:
    panel.set_axis_off()
    panel.text(0.5, 0.5, words, ha="center", va="center", color=figures.SOFT, transform=panel.transAxes)


def _plain_text(words: str) -> str:
    """A dollar sign would start matplotlib's own mathematics, and a leading underscore hides a legend entry."""
    escaped = "".join(letter if letter.isprintable() else " " for letter in words).replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped
