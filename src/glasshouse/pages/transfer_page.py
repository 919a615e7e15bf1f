"""The page that compares two recipes by their scaling curves: an answer, the loss and the multiplier over compute, a table.

Knows nothing of how the curves were fitted.
"""

from collections.abc import Sequence

from glasshouse.pages import scaling_page, xy_figure
from glasshouse.pages.xy_figure import XYSeries
from glasshouse.results.scaling import LossCurve, MultiplierCurve, TransferContent

LOSS_CAPTION = (
    "The lowest loss for a compute. Points: the lowest loss of each budget's IsoFLOP curve, with its 95 % interval. Lines: "
    "the fitted curves. The bands hold 95 % of the resamples, and are cut far from the lines. Dashed: the parametric law, "
    "if there are both. The horizontal distance between two lines is the compute multiplier."
)
MULTIPLIER_CAPTION = (
    "The compute multiplier k: how many times the compute the first recipe needs for the loss of the second. At 1 both need "
    "the same. The bands hold 95 % of the resamples, and are cut far from the lines."
)


def render(content: TransferContent) -> str:
    """The whole page."""
    return scaling_page.fill(content, list(figures(content).values()))


def figures(content: TransferContent) -> dict[str, tuple[str, str]]:
    """Name -> figure (SVG) and caption."""
    return {
        "losses": (loss_figure(content.curves), LOSS_CAPTION),
        "multiplier": (multiplier_figure(content.multipliers), MULTIPLIER_CAPTION),
    }


def loss_figure(curves: Sequence[LossCurve]) -> str:
    """The lowest loss over compute, by recipe and method."""
    series = [
        XYSeries(
            each.name,
            each.points,
            each.line,
            each.band,
            vertical_bars=each.intervals,
            dashed=each.dashed,
            colour=each.recipe,
        )
        for each in curves
    ]
    return xy_figure.draw(series, "compute C, FLOPs", "lowest loss")


def multiplier_figure(multipliers: Sequence[MultiplierCurve]) -> str:
    """The compute multiplier over compute, by method."""
    series = [
        XYSeries(each.method, line=each.line, band=each.band, dashed=index > 0, colour=2 + index)
        for index, each in enumerate(multipliers)
    ]
    places = [x for each in multipliers for x, _, _ in each.band]
    equal = XYSeries("equal", line=[(min(places), 1.0), (max(places), 1.0)], colour=4)
    return xy_figure.draw([equal, *series], "compute C, FLOPs", "compute multiplier k")
