"""A study's differences and curves side by side as an image file; the suffix chooses SVG or PNG. Needs no display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glasshouse import formatting
from glasshouse.pages import axes, charts, figures, study_curves, study_differences, study_text
from glasshouse.results.study import StudyResults
from glasshouse.verdicts.verdict import BETTER, WORSE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND = "#e3f1ea"
ALARM = "#a63d24"
DASHES = ("-", (0, (5, 2)), (0, (1.5, 2)), (0, (6, 2, 1.5, 2)))
NAME_CHARACTERS = 34
# With more arms, the legend is drawn next to the curves, not on top of them.
MOST_ARMS_IN_INNER_LEGEND = 6


def draw(comparison: StudyResults, path: str | Path) -> None:
    """Write the figure: each arm's differences from the first arm on the left, every seed's curve on the right."""
    rows = max(1, len(comparison.arms) - 1)
    figure = figures.new_figure(11.0, max(4.0, 1.5 + 0.42 * rows), path)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    _draw_differences(comparison, left)
    _draw_curves(comparison, right)
    figures.save(figure, path)


def _draw_differences(comparison: StudyResults, panel: Axes) -> None:
    arms, limits = study_differences.compared_arms(comparison), study_differences.value_range(comparison)
    if not arms or limits is None:
        _draw_message(panel, study_differences.EMPTY if arms else study_differences.ONE_ARM)
        return
    axis = axes.linear(*limits, tick_count=4)
    margin = study_text.margin(comparison)
    if 0 < margin <= limits[1] * 1.0001:
        panel.axvspan(-margin, margin, color=BAND, linewidth=0)
    panel.axvline(0, color=figures.SOFT, linewidth=1)
    for row, (arm, style, values) in enumerate(arms):
        colour = charts.LIGHT_COLOURS[style.tone]
        heights = [row + ((index * 0.618034) % 1 - 0.5) * 0.44 for index in range(len(values))]
        panel.scatter(values, heights, s=11, color=colour, alpha=0.4, linewidths=0)
        if not values:
            middle = (axis.low + axis.high) / 2
            panel.text(middle, row, study_differences.NO_PAIR, ha="center", va="center", fontsize=8, color=figures.SOFT)
        estimate = study_differences.mean_and_interval(arm)
        if len(estimate) == 3:
            mean, low, high = estimate
            panel.errorbar(mean, row, xerr=[[mean - low], [high - mean]], color=colour, capsize=3)
        if estimate and axis.low <= estimate[0] <= axis.high:
            panel.plot(estimate[0], row, marker="D", markersize=6, color=colour, markeredgecolor="white")
        elif estimate:
            at_right = estimate[0] > axis.high
            value = formatting.number(estimate[0], signed=True)
            panel.annotate(
                f"{value} →" if at_right else f"← {value}",
                (1 if at_right else 0, row),
                xycoords=("axes fraction", "data"),
                ha="right" if at_right else "left",
                va="center",
                fontsize=8.5,
                color=figures.INK,
            )
        if arm.difference:
            colours = {BETTER: charts.LIGHT_COLOURS["accent"], WORSE: ALARM}
            panel.annotate(
                study_text.SYMBOLS.get(arm.difference.word, "?"),
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
    heading, labels = study_text.labels(comparison)
    _, names = study_differences.short_names(comparison, NAME_CHARACTERS)
    panel.set_ylabel(_plain_text(heading), color=figures.SOFT)
    panel.set_yticks(range(len(arms)), [_plain_text(name) for name in names])
    panel.set_ylim(len(arms) - 0.5, -0.5)
    panel.set_xlim(axis.low, axis.high)
    tick_labels = [f"{'+' if tick > 0 else ''}{formatting.short_number(tick)}" for tick in axis.ticks]
    panel.set_xticks(axis.ticks, tick_labels)
    label = labels[comparison.arms.index(comparison.first_arm)]
    first = study_text.short_names([label], NAME_CHARACTERS)[0]
    x_label = f"{comparison.metric}, difference from {first}"
    if len(x_label) > 48:
        x_label = x_label.replace(", ", ",\n", 1)
    panel.set_xlabel(_plain_text(x_label), color=figures.SOFT)
    for x, alignment, text in _direction_labels(comparison):
        colour = charts.LIGHT_COLOURS["accent"] if BETTER in text else ALARM
        panel.annotate(text, (x, 1), (0, 5), "axes fraction", "offset points", ha=alignment, color=colour, fontsize=9)
    figures.style_panel(panel)
    panel.grid(visible=False, axis="y")
    panel.tick_params(axis="y", labelcolor=figures.INK)


def _direction_labels(comparison: StudyResults) -> tuple[tuple[float, str, str], ...]:
    """(x position, alignment, text) of the labels that say which direction is better."""
    left, right = (WORSE, BETTER) if comparison.higher_is_better else (BETTER, WORSE)
    return ((0.0, "left", f"← {left}"), (1.0, "right", f"{right} →"))


def _draw_curves(comparison: StudyResults, panel: Axes) -> None:
    drawn = study_curves.arm_curves(comparison)
    scales = study_curves.value_scales(drawn, comparison.curve_most)
    if not scales:
        _draw_message(panel, "no curve yet")
        return
    axis = scales[study_curves.default_scale(scales)]
    for curves in drawn:
        colour = charts.LIGHT_COLOURS[curves.style.tone]
        for steps, values in curves.seeds.values():
            panel.plot(
                steps,
                study_curves.clip_to_axis(values, axis),
                color=colour,
                linewidth=0.6,
                alpha=0.38,
                marker="." if len(steps) == 1 else None,
            )
        for step, value in study_curves.divergence_points(curves):
            panel.plot(step, min(max(value, axis.low), axis.high), marker="x", color=colour, markersize=6, clip_on=False)
    heading, labels = study_text.labels(comparison)
    names = study_text.short_names(labels, NAME_CHARACTERS)
    for curves, name in zip(drawn, names, strict=True):
        steps, values = curves.mean
        panel.plot(
            steps,
            study_curves.clip_to_axis(values, axis),
            color=charts.LIGHT_COLOURS[curves.style.tone],
            linewidth=1.9,
            linestyle=DASHES[curves.style.dash],
            label=_plain_text(name),
            marker="o" if len(steps) == 1 else None,
        )
    panel.set_ylim(axis.low, axis.high)
    panel.set_yticks(axis.ticks, [formatting.short_number(tick) for tick in axis.ticks])
    panel.set_xlabel("step", color=figures.SOFT)
    panel.set_title(_plain_text(study_text.curve_name(comparison)), loc="left", fontsize=10, color=figures.SOFT)
    figures.style_panel(panel)
    outside = len(drawn) > MOST_ARMS_IN_INNER_LEGEND
    legend = panel.legend(
        frameon=False,
        labelcolor=figures.INK,
        fontsize=8.5,
        title=_plain_text(heading),
        loc="upper left" if outside else "best",
        bbox_to_anchor=(1.0, 1.0) if outside else None,
    )
    legend.get_title().set(fontsize=8.5, color=figures.SOFT)


def _draw_message(panel: Axes, message: str) -> None:
    panel.set_axis_off()
    panel.text(0.5, 0.5, message, ha="center", va="center", color=figures.SOFT, transform=panel.transAxes)


def _plain_text(text: str) -> str:
    """Escape text for matplotlib: a dollar sign starts a formula, and a leading underscore hides a legend entry."""
    escaped = "".join(letter if letter.isprintable() else " " for letter in text).replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped
