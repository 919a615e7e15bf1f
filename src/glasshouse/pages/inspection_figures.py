"""Figures of what a model does with a text or picture, as image files. Knows nothing of models."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from glasshouse import formatting
from glasshouse.pages import attention_heatmap, chart, figures
from glasshouse.pages.chart import Axis, Chart, Dots, Line, MarkGroup
from glasshouse.pages.colours import LIGHT, RAMPS, TONES
from glasshouse.pages.figures import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

# The two ends of a diverging scale: against and for.
AGAINST, NEUTRAL, FOR = LIGHT["rust"], LIGHT["raised"], LIGHT["accent"]
# More columns than this are not labelled.
MOST_LABELS = 64
# Layers whose names fit below a panel.
MOST_LAYERS = 14
# Captioned pictures side by side, and the characters in a line below one.
PICTURES_PER_ROW, CAPTION_LENGTH = 3, 36


def bars(
    names: Sequence[str], values: Sequence[float], path: str | Path, title: str, x_label: str, monospace: bool = False
) -> None:
    """Horizontal bars, one per name, in the given order; values below zero point to the left in another colour."""
    figure = figures.new_figure(7.2, max(1.6, 0.235 * len(names) + 1.1), path)
    panel = figure.add_subplot()
    colours = [FOR if value >= 0 else AGAINST for value in values]
    panel.barh(range(len(names)), values, color=colours, height=0.72)
    panel.axvline(0, color=figures.SOFT, linewidth=0.8)
    labels = [plain(name) for name in names]
    panel.set_yticks(range(len(names)), labels, fontsize=8, color=figures.INK, family="monospace" if monospace else None)
    panel.invert_yaxis()
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.set_xlabel(x_label, color=figures.SOFT, fontsize=9)
    panel.set_title("\n".join(textwrap.wrap(plain(title), 90)), fontsize=9.5, color=figures.INK, loc="left")
    figures.style_panel(panel, "x")
    panel.tick_params(axis="y", labelcolor=figures.INK)
    figures.save(figure, path)


def heat_maps(
    maps: Mapping[str, tuple[Sequence[str], Sequence[str], np.ndarray]], path: str | Path, title: str, unit: str
) -> None:
    """Heat maps below each other: title -> rows, columns and values, which are NaN in an empty cell.

    They share one diverging scale around zero, which ends at the largest absolute value up to 1.5.
    """
    widest = max(len(columns) for _, columns, _ in maps.values())
    heights = [len(rows) + 2.5 for rows, _, _ in maps.values()]
    width = min(24.0, max(6.4, 0.26 * widest + 2.4))
    figure = figures.new_figure(width, 0.24 * (sum(heights) - 2.5 * len(maps)) + 1.15 * len(maps) + 0.8, path)
    panels = figure.subplots(len(maps), 1, squeeze=False, height_ratios=heights)[:, 0]
    largest = max(np.abs(values[np.isfinite(values)]).max(initial=1e-6) for _, _, values in maps.values())
    for panel, (name, (rows, columns, values)) in zip(panels, maps.items(), strict=True):
        shown = list(map(attention_heatmap.label, columns)) if len(columns) <= MOST_LABELS else []
        image = _heat_map(panel, values, rows, shown, (AGAINST, NEUTRAL, FOR), -min(1.5, largest), min(1.5, largest))
        panel.set_title(plain(name), fontsize=9, color=figures.INK, loc="left")
    bar = figure.colorbar(image, ax=list(panels), shrink=0.5, aspect=30)
    bar.set_label(unit, fontsize=8, color=figures.SOFT)
    bar.ax.tick_params(labelsize=8, colors=figures.SOFT)
    bar.outline.set_visible(False)
    figure.suptitle("\n".join(textwrap.wrap(plain(title), 100)), fontsize=9.5, color=figures.INK)
    figures.save(figure, path)


def _heat_map(
    panel: Axes,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    colours: Sequence[str],
    low: float,
    high: float,
) -> AxesImage:
    image = panel.imshow(values, cmap=figures.ramp("values", colours), vmin=low, vmax=high, aspect="auto")
    panel.set_yticks(range(len(rows)), [plain(row) for row in rows], fontsize=8, color=figures.SOFT)
    names = [plain(column) for column in columns]
    panel.set_xticks(range(len(columns)), names, rotation=60, ha="right", fontsize=7, color=figures.SOFT, family="monospace")
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    return image


def lens(
    rows: Sequence[str],
    stages: Sequence[str],
    names: Sequence[Sequence[str]],
    probabilities: Sequence[Sequence[float]],
    path: str | Path,
) -> None:
    """The likeliest output of each stage (rows, the last stage at the top) at each position (columns)."""
    figure = figures.new_figure(min(40.0, 0.82 * len(rows) + 1.6), 0.36 * len(stages) + 1.5, path)
    panel = figure.add_subplot()
    shades = np.sqrt(np.array(probabilities, dtype=float))[::-1]
    whole = len(rows) == 1 and not rows[0]
    labels = ["the whole text"] if whole else list(map(attention_heatmap.label, rows))
    _heat_map(panel, shades, stages[::-1], labels, RAMPS["light"], 0, 1)
    for (row, column), shade in np.ndenumerate(shades):
        text = plain(attention_heatmap.label(names[-1 - row][column])[:11])
        colour = "white" if shade > 0.62 else figures.INK
        panel.text(column, row, text, ha="center", va="center", fontsize=7, color=colour, family="monospace")
    panel.set_xlabel("" if whole else "prediction at this token", color=figures.SOFT, fontsize=8.5)
    panel.set_title("the likeliest output by layer; darker is likelier", fontsize=9.5, color=figures.INK, loc="left")
    figures.save(figure, path)


def gradients(
    norms: dict[str, dict[str, float]],
    depth: dict[str, Sequence[tuple[int, float, float]]],
    time: dict[str, Sequence[tuple[int, float, float]]],
    path: str | Path,
) -> None:
    """Three charts with a line for each state of the weights: gradient norms by layer, and the factors of a Jacobian, as
    (place, largest, median singular value), through depth and through time."""
    # Models of different depths have different layers: those of the deepest are the places on the axis.
    names = max((list(values) for values in norms.values()), key=len)
    shown = range(0, len(names), -(-len(names) // MOST_LAYERS))
    layers = Axis(-0.5, len(names) - 0.5, tuple(map(float, shown)), labels=tuple(names[place] for place in shown))
    series = []
    for tone, (state, values) in zip(_tones(norms), norms.items(), strict=True):
        sizes = [values.get(name, np.nan) for name in names]  # a line has a gap where a model has no layer
        series.append(MarkGroup([Line(range(len(names)), sizes), Dots(range(len(names)), sizes)], state, tone))
    charts = {
        "gradient of the loss by a layer's weights": Chart("no gradient", layers, _log_scale(series), series),
        "through depth": _factors(depth, "layer"),
        "through time": _factors(time, "tokens between the two states"),
    }
    figures.draw(charts, path, 11.5, 3.9)


def _factors(spreads: dict[str, Sequence[tuple[int, float, float]]], x_label: str) -> Chart:
    """The largest (solid) and the median (dashed) singular values over places, with a line at 1."""
    series = []
    for tone, rows in zip(_tones(spreads), spreads.values(), strict=True):
        for column, dash in ((1, 0), (2, 1)):
            series.append(MarkGroup([Line([row[0] for row in rows], [row[column] for row in rows])], tone=tone, dash=dash))
    places, _ = chart.spanned(series)
    if not len(places):
        return Chart("nothing to draw")
    axis = chart.steps(places.min(), places.max())
    axis = replace(axis, labels=tuple(map(formatting.short_number, axis.ticks)))
    one = MarkGroup([Line((axis.low, axis.high), (1, 1), width=1)], tone="quiet")
    label = "singular value: largest (solid), median (dashed)"
    return Chart("singular values", axis, _log_scale([one, *series]), [one, *series], (), x_label, label)


def _log_scale(series: Sequence[MarkGroup]) -> dict[str, Axis]:
    """A logarithmic axis for all values above zero."""
    _, values = chart.spanned(series)
    values = values[values > 0]
    return {"linear": chart.logarithmic(values.min(), values.max())} if len(values) else {}


def _tones(lines: Mapping[str, object]) -> list[str]:
    return [TONES[index % len(TONES)] for index in range(len(lines))]


def energies(layers: Mapping[str, Mapping[str, Sequence[float]]], path: str | Path) -> None:
    """The share of the energy of attention maps in their first k singular values: a chart for each layer, a line a head."""
    share = Axis(0, 1.02, (0, 0.2, 0.4, 0.6, 0.8, 1))
    charts: dict[str, Chart] = {}
    for title, heads in layers.items():
        most = max(len(shares) for shares in heads.values())
        powers = tuple(2.0**power for power in range(int(np.log2(most)) + 1))
        rank = Axis(1, max(most, 2), powers, log=True)
        series = [
            MarkGroup([Line(range(1, len(shares) + 1), shares, width=1.3)], name if len(heads) <= len(TONES) else "", tone)
            for tone, (name, shares) in zip(_tones(heads), heads.items(), strict=True)
        ]
        rule = MarkGroup([Line((rank.low, rank.high), (0.9, 0.9), width=0.8)], tone="soft", dash=2)
        label = "share of the energy" if not len(charts) % figures.MOST_COLUMNS else ""
        charts[title] = Chart(title, rank, {"linear": share}, [rule, *series], (), "first k singular values", label)
    columns = min(len(layers), figures.MOST_COLUMNS)
    figures.draw(charts, path, 2.2 * columns + 1.4, 2.1 * -(-len(layers) // columns) + 0.7)


def captioned_pictures(rows: Sequence[tuple[np.ndarray, str, str]], path: str | Path) -> None:
    """Each picture below what a model wrote about it and above its caption in the data, in grey, if it has one."""
    columns = min(PICTURES_PER_ROW, len(rows))
    lines = -(-len(rows) // columns)
    figure = figures.new_figure(2.6 * columns, 3.2 * lines, path)
    panels = figure.subplots(lines, columns, squeeze=False)
    for panel in panels.flat[len(rows) :]:
        panel.set_axis_off()
    for panel, (picture, text, caption) in zip(panels.flat, rows, strict=False):
        panel.imshow(picture, interpolation="nearest")
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_color(figures.HAIRLINE)
        panel.set_title(_wrapped(text), fontsize=8, color=figures.INK, loc="left")
        panel.set_xlabel(_wrapped(caption), fontsize=7.5, color=figures.SOFT, loc="left")
    figures.save(figure, path)


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(plain(text), CAPTION_LENGTH))
