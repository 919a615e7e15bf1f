"""Means with their intervals over a few settings, a line for each thing compared, as a picture file. Needs no display."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from glasshouse.pages import charts, figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vPX*"
DASHES = ("-", (0, (5, 2)), (0, (1.5, 2)), (0, (6, 2, 1.5, 2)))
# Means further apart than this are drawn on a logarithmic scale.
WIDE = 4.0
# Intervals that reach further beyond the means than this factor of them run out of the picture.
ROOM = 1.5


def draw(
    series: Mapping[str, Mapping[float, tuple[float, float, float]]], path: str | Path, across: str, along: str
) -> None:
    """Name -> setting -> (mean, low, high). The settings stand equally far apart, whatever the numbers. Signs and dashes as
    well as colours tell the lines apart."""
    figure = figures.new(7.2, 4.2, path)
    panel = figure.add_subplot()
    settings = sorted({setting for row in series.values() for setting in row})
    colours = list(charts.FALLBACK_COLOURS.values())
    for number, (name, unordered) in enumerate(series.items()):
        row = dict(sorted(unordered.items()))
        means, lows, highs = zip(*row.values(), strict=True)
        panel.errorbar(
            [settings.index(setting) for setting in row],
            means,
            yerr=[
                [mean - low for mean, low in zip(means, lows, strict=True)],
                [high - mean for mean, high in zip(means, highs, strict=True)],
            ],
            label=name,
            color=colours[number % len(colours)],
            linestyle=DASHES[number // len(colours) % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            linewidth=1.4,
            capsize=3,
        )
    panel.set_xticks(range(len(settings)), [f"{setting:g}" for setting in settings])
    panel.set_xlim(-0.3, len(settings) - 0.7)
    panel.set_xlabel(across, color=figures.SOFT)
    panel.set_ylabel(along, color=figures.SOFT)
    _scale(panel, [mean for row in series.values() for mean, _, _ in row.values()])
    figures.plain(panel)
    if len(series) > 1:
        panel.legend(frameon=False, labelcolor=figures.INK, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figures.write(figure, path)


def _scale(panel: Axes, means: list[float]) -> None:
    """A logarithmic scale where the means need one, and no more room than they do."""
    if not means or min(means) <= 0:
        return
    if max(means) / min(means) > WIDE:
        figures.logarithmic(panel)
    low, high = panel.get_ylim()
    panel.set_ylim(max(low, min(means) / ROOM), min(high, max(means) * ROOM))
