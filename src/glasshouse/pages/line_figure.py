"""A figure of means with intervals at several settings, one line per series, as an image file. Needs no display."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from glasshouse.pages import charts, figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vPX*"
DASHES = ("-", (0, (5, 2)), (0, (1.5, 2)), (0, (6, 2, 1.5, 2)))
# A larger ratio of the largest to the smallest mean gives a logarithmic scale.
LOG_SCALE_RATIO = 4.0
# The axis extends at most this factor beyond the means; longer interval bars are clipped.
MOST_PADDING = 1.5


def draw(
    series: Mapping[str, Mapping[float, tuple[float, float, float]]], path: str | Path, x_label: str, y_label: str
) -> None:
    """Draw series: name -> setting -> (mean, low, high).

    Settings are spaced equally on the x axis, whatever their values. Lines differ in marker and dash as well as in colour.
    """
    figure = figures.new_figure(7.2, 4.2, path)
    panel = figure.add_subplot()
    settings = sorted({setting for row in series.values() for setting in row})
    colours = list(charts.LIGHT_COLOURS.values())
    for index, (name, unsorted) in enumerate(series.items()):
        row = dict(sorted(unsorted.items()))
        means, lows, highs = zip(*row.values(), strict=True)
        panel.errorbar(
            [settings.index(setting) for setting in row],
            means,
            yerr=[
                [mean - low for mean, low in zip(means, lows, strict=True)],
                [high - mean for mean, high in zip(means, highs, strict=True)],
            ],
            label=name,
            color=colours[index % len(colours)],
            linestyle=DASHES[index // len(colours) % len(DASHES)],
            marker=MARKERS[index % len(MARKERS)],
            markersize=5,
            linewidth=1.4,
            capsize=3,
        )
    panel.set_xticks(range(len(settings)), [f"{setting:g}" for setting in settings])
    panel.set_xlim(-0.3, len(settings) - 0.7)
    panel.set_xlabel(x_label, color=figures.SOFT)
    panel.set_ylabel(y_label, color=figures.SOFT)
    _set_scale(panel, [mean for row in series.values() for mean, _, _ in row.values()])
    figures.style_panel(panel)
    if len(series) > 1:
        panel.legend(frameon=False, labelcolor=figures.INK, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figures.save(figure, path)


def _set_scale(panel: Axes, means: list[float]) -> None:
    """Choose a logarithmic scale if the means differ by a large ratio, and limit the range around them."""
    if not means or min(means) <= 0:
        return
    if max(means) / min(means) > LOG_SCALE_RATIO:
        figures.use_log_scale(panel)
    low, high = panel.get_ylim()
    panel.set_ylim(max(low, min(means) / MOST_PADDING), min(high, max(means) * MOST_PADDING))
