"""Draws charts and attention maps as image files with matplotlib; the suffix chooses SVG or PNG. Needs no display."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from glasshouse.pages import attention_heatmap
from glasshouse.pages.chart import DASHES, Axis, Band, Chart, Dots, Interval, Line, Mark, MarkGroup
from glasshouse.pages.colours import LIGHT, RAMPS
from glasshouse.records import atomic_files
from glasshouse.records.user_paths import StrPath
from glasshouse.results.report import AttentionMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SUFFIXES = (".svg", ".png")
# An attention map, or a grid of maps, with more tokens has no labels: they could not be read.
MOST_LABELS, MOST_GRID_LABELS = 128, 48
MOST_COLUMNS = 4
# With more series, the legend is drawn beside the chart, not on top of it.
MOST_IN_LEGEND = 6
INK, SOFT, HAIRLINE = LIGHT["ink"], LIGHT["soft"], LIGHT["hairline"]
MARKERS = {"dot": "o", "ring": "o", "cross": "x", "diamond": "D", "square": "s"}
MARKERS |= {"up": "^", "down": "v", "left": "<", "right": ">"}


def draw(
    charts: Mapping[str, Chart], path: str | Path, width: float = 7.2, height: float = 4.2, columns: int = MOST_COLUMNS
) -> None:
    """Draw charts beside each other, each with its title; the size of the whole is in inches."""
    figure = new_figure(width, height, path)
    columns = min(columns, len(charts))
    for index, (title, chart) in enumerate(charts.items()):
        panel = figure.add_subplot(-(-len(charts) // columns), columns, index + 1)
        draw_chart(panel, chart)
        panel.set_title(plain(title), loc="left", fontsize=10, color=SOFT)
    save(figure, path)


def draw_chart(panel: Axes, chart: Chart) -> None:
    """Draw a chart in a panel. Places are fractions of the axes, which a chart knows itself."""
    if not chart.scales:
        panel.set_axis_off()
        panel.text(0.5, 0.5, plain(chart.title), ha="center", va="center", color=SOFT, transform=panel.transAxes)
        return
    x_axis, y_axis = chart.x, chart.scales[chart.shown]
    for series in chart.series:
        for mark in series.marks:
            _draw_mark(panel, mark, series, x_axis, y_axis)
    panel.set(xlim=(0, 1), ylim=(0, 1))
    panel.set_xticks(x_axis.fractions(x_axis.ticks), list(map(plain, x_axis.tick_labels)))
    panel.set_yticks(y_axis.fractions(y_axis.ticks), list(map(plain, y_axis.tick_labels)))
    for text in chart.texts:
        panel.annotate(
            plain(text.text),
            (text.x, text.y),
            (text.right, text.up),
            "axes fraction",
            "offset points",
            ha={"start": "left", "end": "right"}.get(text.anchor, "center"),
            va="center",
            fontsize=9,
            weight="bold" if text.bold else None,
            color=LIGHT[text.tone],
            annotation_clip=False,
        )
    style_panel(panel, chart.grid)
    panel.set_xlabel("\n".join(textwrap.wrap(plain(chart.x_label), 56)), color=SOFT)
    panel.set_ylabel(plain(chart.y_label), color=SOFT)
    named = [series for series in chart.series if series.name]
    if named:
        beside = len(named) > MOST_IN_LEGEND
        panel.legend(
            handles=list(map(_sample, named)),
            frameon=False,
            labelcolor=INK,
            fontsize=8.5,
            loc="center left" if beside else "best",
            bbox_to_anchor=(1.0, 0.5) if beside else None,
        )


def _sample(series: MarkGroup) -> Line2D:
    from matplotlib.lines import Line2D

    shapes = [mark.shape for mark in series.marks if isinstance(mark, Dots)]
    lined = any(isinstance(mark, Line) for mark in series.marks)
    marker = MARKERS[shapes[0]] if shapes else ""
    style = _dash(series.dash, 1.7) if lined else ""
    return Line2D([], [], color=LIGHT[series.tone], label=plain(series.name), linestyle=style, marker=marker, markersize=4.5)


def _dash(dash: int, width: float) -> tuple[float, Sequence[float]] | Literal["-"]:
    return (0, [length / width for length in DASHES[dash]]) if dash else "-"


def _draw_mark(panel: Axes, mark: Mark, series: MarkGroup, x_axis: Axis, y_axis: Axis) -> None:
    colour = LIGHT[series.tone]
    match mark:
        case Line():
            x, y = x_axis.fractions(mark.x), y_axis.fractions(mark.y)
            marker = "." if np.isfinite(y).sum() == 1 else ""
            dash = _dash(series.dash, mark.width)
            panel.plot(x, y, color=colour, linestyle=dash, linewidth=mark.width, alpha=mark.opacity, marker=marker)
        case Dots():
            y = y_axis.fractions(mark.y)
            panel.plot(
                x_axis.fractions(mark.x),
                np.clip(y, 0, 1) if mark.at_edge else y,
                linestyle="",
                marker=MARKERS[mark.shape],
                # The side of a diamond is shorter than its diameter.
                markersize=mark.size * (0.6 if mark.shape == "diamond" else 1),
                markeredgewidth=1.2 if mark.shape in ("ring", "cross") else 0,
                alpha=mark.opacity,
                color=colour,
                markerfacecolor="none" if mark.shape == "ring" else colour,
            )
        case Interval():
            along, other = (x_axis, y_axis) if mark.across else (y_axis, x_axis)
            [at], [low, high] = other.fractions([mark.at]), along.fractions([mark.low, mark.high])
            middle, sides = (low + high) / 2, [[(high - low) / 2]] * 2
            x, y, x_sides, y_sides = (middle, at, sides, None) if mark.across else (at, middle, None, sides)
            width = mark.width * 0.7
            panel.errorbar(x, y, y_sides, x_sides, "none", ecolor=colour, elinewidth=width, capsize=mark.cap)
        case Band():
            low, high = (y_axis.fractions(edge) for edge in (mark.low, mark.high))
            panel.fill_between(x_axis.fractions(mark.x), low, high, alpha=mark.opacity, linewidth=0, color=colour)


def plain(text: str) -> str:
    """Text that matplotlib draws as it is: it reads a dollar sign as the start of a formula, and hides names with "_"."""
    shown = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text).replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown


def attention(map: AttentionMap, path: str | Path, first_layer: int = 1, first_head: int = 1) -> None:
    """Draw every head in a grid of layers by heads, with the tokens on both axes unless there are too many.

    `first_layer` and `first_head` are the numbers of the first row and column.
    """
    weights_LHQK = attention_heatmap.clean_weights(map.weights)
    layers, heads, queries, keys = weights_LHQK.shape
    single = layers * heads == 1
    labelled = max(queries, keys) <= (MOST_LABELS if single else MOST_GRID_LABELS)
    # Inches of a map, and per token: a little more than the height of a label.
    smallest, unlabelled, per_token = (4.0, 7.0, 0.17) if single else (1.7, 1.7, 0.13)
    width, height = (max(smallest, length * per_token) if labelled else unlabelled for length in (keys, queries))
    margin = 1.2 if labelled else 0.4
    figure = new_figure(width * heads + margin, height * layers + margin, path)
    panels = figure.subplots(layers, heads, squeeze=False)
    key_labels, query_labels = ([plain(attention_heatmap.label(token)) for token in side] for side in (map.keys, map.tokens))
    font = {"fontsize": 7 if single else 5.5, "color": SOFT, "family": "monospace"}
    for layer in range(layers):
        for head in range(heads):
            panel = panels[layer, head]
            # The square root makes small weights visible, as in `attention_heatmap.shade`.
            panel.imshow(
                np.sqrt(weights_LHQK[layer, head]),
                cmap=ramp("attention", RAMPS["light"]),
                vmin=0,
                vmax=1,
                interpolation="nearest",
            )
            panel.set_xticks([])
            panel.set_yticks([])
            panel.spines[:].set_color(HAIRLINE)
            panel.tick_params(length=0)
            if labelled and layer == layers - 1:
                panel.set_xticks(range(keys), key_labels, rotation=90, **font)
            if labelled and head == 0:
                panel.set_yticks(range(queries), query_labels, **font)
            panel.set_title(f"layer {layer + first_layer}, head {head + first_head}", fontsize=8, color=SOFT)
    save(figure, path)


def check_path(path: StrPath | None) -> None:
    atomic_files.check_output(path, SUFFIXES)


def style_panel(panel: Axes, grid: str = "y") -> None:
    """Keep only grid lines of these axes, and the line of an x axis without them."""
    for axis in grid:
        panel.grid(axis="x" if axis == "x" else "y", color=HAIRLINE, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[:].set_visible(False)
    panel.spines["bottom"].set(visible="x" not in grid, color=SOFT)
    panel.tick_params(colors=SOFT, length=3 if "x" not in grid else 0)
    panel.tick_params(axis="y", which="both", length=0)


def new_figure(width: float, height: float, path: str | Path) -> Figure:
    """Create an empty figure, in inches, after checking the path that it will be saved to."""
    check_path(path)
    # matplotlib is imported here because the import is slow. pyplot is not used: it has global state and chooses a
    # display backend.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str | Path) -> None:
    from matplotlib import rc_context

    # These settings keep text as text in SVG and make the file depend on the data alone.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "glasshouse"}):
        is_svg = Path(path).suffix.lower() == ".svg"
        figure.savefig(path, dpi=160, metadata={"Date": None} if is_svg else None)


def ramp(name: str, colours: Sequence[str]) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, list(colours)).with_extremes(bad="white")
