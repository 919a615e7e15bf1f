"""Figures of curves, attention maps and proportions as image files; the suffix chooses SVG or PNG. Needs no display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.pages import attention_heatmap, charts
from glasshouse.pages.curve_thinning import thin
from glasshouse.records import atomic_files
from glasshouse.results.report import AttentionMap, Curve
from glasshouse.specs.errors import GlasshouseError, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png")
# An attention map, or a grid of maps, with more tokens has no labels: they could not be read.
MOST_LABELS, MOST_GRID_LABELS = 128, 48
INK, SOFT, HAIRLINE = "#18221d", "#55645c", "#e0e7e2"


def curves(curves: tuple[Curve, ...], path: str | Path, log: bool = False) -> None:
    """Draw curves over training steps; `log` sets a logarithmic scale, which needs values above zero."""
    if log and not charts.has_log_scale(curves):
        raise GlasshouseError(
            "a logarithmic scale needs values above zero, and these curves have values at or below zero; set log=False"
        )
    figure = new_figure(7.2, 4.2, path)
    panel = figure.add_subplot()
    for curve, tone in zip(curves, charts.tones(len(curves)), strict=True):
        steps, values = thin(curve)
        few = np.isfinite(values).sum() <= charts.MOST_MARKED_POINTS
        panel.plot(
            steps,
            values,
            label=curve.name,
            color=charts.LIGHT_COLOURS[tone],
            linewidth=1.0 if tone == "quiet" else 1.6,
            marker="o" if few else None,
            markersize=3.2,
        )
    panel.set_xlabel("step", color=SOFT)
    if log:
        use_log_scale(panel)
    style_panel(panel)
    if curves:
        panel.legend(frameon=False, labelcolor=INK)
    save(figure, path)


def use_log_scale(panel: Axes) -> None:
    """Set a logarithmic y axis with plain numbers at 1, 2 and 5 times each power of ten."""
    from matplotlib.ticker import LogLocator, NullLocator

    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


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
    # matplotlib reads a dollar sign as the start of a formula.
    key_labels, query_labels = (
        [attention_heatmap.label(token).replace("$", r"\$") for token in side] for side in (map.keys, map.tokens)
    )
    font = {"fontsize": 7 if single else 5.5, "color": SOFT, "family": "monospace"}
    for layer in range(layers):
        for head in range(heads):
            panel = panels[layer, head]
            # The square root makes small weights visible, as in `attention_heatmap.shade`.
            panel.imshow(np.sqrt(weights_LHQK[layer, head]), cmap=colour_map(), vmin=0, vmax=1, interpolation="nearest")
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


def proportions(
    measured: dict[float, tuple[float, float, float]],
    baseline: tuple[str, float],
    path: str | Path,
    x_label: str,
    y_label: str,
) -> None:
    """Draw proportions with intervals, setting -> (mean, low, high), and a named baseline as a dashed line."""
    figure = new_figure(6.4, 4.0, path)
    panel = figure.add_subplot()
    positions = list(range(len(measured)))
    means, lows, highs = (np.array(values) for values in zip(*measured.values(), strict=True))
    accent, quiet = charts.LIGHT_COLOURS["accent"], charts.LIGHT_COLOURS["quiet"]
    panel.axhline(baseline[1], color=quiet, linewidth=1.2, linestyle=(0, (4, 3)))
    panel.annotate(
        baseline[0], (1, baseline[1]), (0, 4), ("axes fraction", "data"), "offset points", ha="right", color=SOFT, fontsize=9
    )
    panel.errorbar(
        positions,
        means,
        yerr=[means - lows, highs - means],
        color=accent,
        linewidth=1.6,
        marker="o",
        markersize=4,
        capsize=3,
    )
    # Settings are spaced equally, because numbers of examples usually double: 1, 2, 4, 8.
    panel.set_xticks(positions, [f"{setting:g}" for setting in measured])
    panel.set_xlabel(x_label, color=SOFT)
    panel.set_ylabel(y_label, color=SOFT)
    panel.set_ylim(0, min(1.0, 1.15 * max(float(highs.max()), baseline[1])))
    panel.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    style_panel(panel)
    save(figure, path)


def check_path(path: str | Path) -> None:
    """Raise an error if a figure cannot be written to this path."""
    atomic_files.check_output(Path(path), SUFFIXES)


def style_panel(panel: Axes) -> None:
    """Keep only horizontal grid lines and the x axis."""
    panel.grid(axis="y", color=HAIRLINE, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.spines["bottom"].set_color(SOFT)
    panel.tick_params(colors=SOFT, length=3)
    panel.tick_params(axis="y", which="both", length=0)


def new_figure(width: float, height: float, path: str | Path) -> Figure:
    """Create an empty figure, in inches, after checking the path that it will be saved to."""
    check_path(path)
    # matplotlib is imported here because the import is slow. pyplot is not used: it has global state and chooses a
    # display backend.
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtra("matplotlib", "drawing a figure") from missing
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure to a file."""
    from matplotlib import rc_context

    # These settings keep text as text in SVG and make the file depend on the data alone.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "glasshouse"}):
        is_svg = Path(path).suffix.lower() == ".svg"
        figure.savefig(path, dpi=160, metadata={"Date": None} if is_svg else None)


def colour_map():  # type: ignore[no-untyped-def]
    """The colours of attention weights for matplotlib."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("glasshouse", attention_heatmap.LIGHT)
