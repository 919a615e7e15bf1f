"""Curves and attention as picture files, SVG or PNG by suffix. Knows nothing of pages, and needs no display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.pages import attention_heatmap, charts
from glasshouse.pages.curve_thinning import thin
from glasshouse.pages.report_content import AttentionMap, Curve
from glasshouse.records import atomic_files
from glasshouse.specs.errors import GlasshouseError, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png")
INK, SOFT, HAIRLINE = "#18221d", "#55645c", "#e0e7e2"


def curves(curves: tuple[Curve, ...], path: str | Path, log: bool = False) -> None:
    """Curves over steps in one picture; `log` asks for a logarithmic scale, which values at or below zero forbid."""
    if log and not charts.has_log_scale(curves):
        raise GlasshouseError(
            "log-of-nonpositive", "a logarithmic scale needs values above zero, and these curves have others; leave out log"
        )
    figure = new(7.2, 4.2, path)
    panel = figure.add_subplot()
    for curve, tone in zip(curves, charts.tones(len(curves)), strict=True):
        steps, values = thin(curve)
        few = np.isfinite(values).sum() <= charts.MOST_MARKED_POINTS
        panel.plot(
            steps,
            values,
            label=curve.name,
            color=charts.FALLBACK_COLOURS[tone],
            linewidth=1.0 if tone == "quiet" else 1.6,
            marker="o" if few else None,
            markersize=3.2,
        )
    panel.set_xlabel("step", color=SOFT)
    if log:
        logarithmic(panel)
    plain(panel)
    if curves:
        panel.legend(frameon=False, labelcolor=INK)
    write(figure, path)


def logarithmic(panel: Axes) -> None:
    """A logarithmic scale upwards, with numbers written out at 1, 2 and 5 of each decade."""
    from matplotlib.ticker import LogLocator, NullLocator

    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def attention(map: AttentionMap, path: str | Path) -> None:
    """Every head of the sentence in a grid of layers by heads; a single head gets its tokens on both axes."""
    weights_LHQK = attention_heatmap.known(map.weights)
    layers, heads, queries, keys = weights_LHQK.shape
    alone = layers * heads == 1
    wide, high = (max(4.0, length * 0.17 + 1.2) if alone else 1.7 for length in (keys, queries))
    figure = new(wide * heads + 0.4, high * layers + 0.4, path)
    panels = figure.subplots(layers, heads, squeeze=False)
    colours = _colour_map()
    for layer in range(layers):
        for head in range(heads):
            panel = panels[layer, head]
            # The same square root as the page's pictures: small weights hold most of the pattern.
            panel.imshow(np.sqrt(weights_LHQK[layer, head]), cmap=colours, vmin=0, vmax=1, interpolation="nearest")
            panel.set_xticks([])
            panel.set_yticks([])
            panel.spines[:].set_color(HAIRLINE)
            if not alone:
                panel.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=8, color=SOFT)
    if alone:
        # A dollar sign would start matplotlib's own mathematics.
        across, down = (
            [attention_heatmap.label(token).replace("$", r"\$") for token in side] for side in (map.keys, map.tokens)
        )
        panels[0, 0].set_xticks(range(keys), across, rotation=90, fontsize=7, color=SOFT, family="monospace")
        panels[0, 0].set_yticks(range(queries), down, fontsize=7, color=SOFT, family="monospace")
        panels[0, 0].xaxis.tick_top()
        panels[0, 0].tick_params(length=0)
    write(figure, path)


def shares(
    measured: dict[float, tuple[float, float, float]], level: tuple[str, float], path: str | Path, across: str, along: str
) -> None:
    """Shares (mean, low, high) by a number, with their intervals, beside a level that they are to be compared with."""
    figure = new(6.4, 4.0, path)
    panel = figure.add_subplot()
    places = list(range(len(measured)))
    means, lows, highs = (np.array(values) for values in zip(*measured.values(), strict=True))
    accent, quiet = charts.FALLBACK_COLOURS["accent"], charts.FALLBACK_COLOURS["quiet"]
    panel.axhline(level[1], color=quiet, linewidth=1.2, linestyle=(0, (4, 3)))
    panel.annotate(
        level[0], (1, level[1]), (0, 4), ("axes fraction", "data"), "offset points", ha="right", color=SOFT, fontsize=9
    )
    panel.errorbar(
        places, means, yerr=[means - lows, highs - means], color=accent, linewidth=1.6, marker="o", markersize=4, capsize=3
    )
    # Equally far apart, whatever the numbers: shots are mostly doubled.
    panel.set_xticks(places, [f"{number:g}" for number in measured])
    panel.set_xlabel(across, color=SOFT)
    panel.set_ylabel(along, color=SOFT)
    panel.set_ylim(0, min(1.0, 1.15 * max(float(highs.max()), level[1])))
    panel.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    plain(panel)
    write(figure, path)


def check_path(path: str | Path) -> None:
    """Refuse a path that a figure cannot be written to."""
    atomic_files.check_output(Path(path), SUFFIXES)


def plain(panel: Axes) -> None:
    """Hairlines across and an axis below, and nothing else."""
    panel.grid(axis="y", color=HAIRLINE, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.spines["bottom"].set_color(SOFT)
    panel.tick_params(colors=SOFT, length=3)
    panel.tick_params(axis="y", which="both", length=0)


def new(width: float, height: float, path: str | Path) -> Figure:
    check_path(path)
    # Imported here because it takes longer than most commands. A Figure of its own and not pyplot: no window system, no
    # global state and no caller's backend is touched.
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtra("matplotlib", "drawing a figure") from missing
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def write(figure: Figure, path: str | Path) -> None:
    from matplotlib import rc_context

    # Text stays text in SVG, and the same data makes the same bytes.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "glasshouse"}):
        is_svg = Path(path).suffix.lower() == ".svg"
        figure.savefig(path, dpi=160, metadata={"Date": None} if is_svg else None)


def _colour_map():  # type: ignore[no-untyped-def]
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("glasshouse", attention_heatmap.LIGHT)
