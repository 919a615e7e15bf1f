"""Two recipes compared by their scaling curves, in words, a table and pictures."""

import math
from collections.abc import Sequence

import numpy as np

from glasshouse.pages.chart import MarkGroup
from glasshouse.pages.scaling_page import BandPlace, ScalingContent, curve, figure
from glasshouse.results.table import Table
from glasshouse.scaling.recipe_transfer import RecipeTransfer, ratio_interval
from glasshouse.scaling.regression import estimate

# Points of a drawn line.
POINTS = 60
# Bands are cut at so many times the largest value of all lines, and at one over so many of the smallest.
MOST_MULTIPLIER, MOST_LOSS = 10.0, 1.5
COMPUTE = "compute C, FLOPs"
LOSS_CAPTION = (
    "The lowest loss for a compute. Points: the lowest loss of each budget's IsoFLOP curve, with its 95 % interval. Lines: "
    "the fitted curves. The bands hold 95 % of the resamples, and are cut far from the lines. Dashed: the parametric law, "
    "if there are both. The horizontal distance between two lines is the compute multiplier."
)
MULTIPLIER_CAPTION = (
    "The compute multiplier k: how many times the compute the first recipe needs for the loss of the second. At 1 both need "
    "the same. The bands hold 95 % of the resamples, and are cut far from the lines."
)


def content(found: RecipeTransfer) -> ScalingContent:
    subtitle = "How much compute is the second recipe worth, and does that grow with scale?"
    figures = [
        figure("losses", COMPUTE, "lowest loss", LOSS_CAPTION, _loss_curves(found)),
        figure("multiplier", COMPUTE, "compute multiplier k", MULTIPLIER_CAPTION, _multipliers(found)),
    ]
    return ScalingContent(
        f"{found.a} and {found.b}", subtitle, found.verdicts, found.notes, figures, [multiplier_table(found)]
    )


def multiplier_table(found: RecipeTransfer) -> Table:
    """The multiplier at both ends of the common range, and its growth, by each method."""
    cells = {
        "smallest common C, FLOPs": [f"{each.low.flops:.3g}" for each in found.methods],
        "k at the smallest": [ratio_interval(each.low.ratio) for each in found.methods],
        "largest common C, FLOPs": [f"{each.high.flops:.3g}" for each in found.methods],
        "k at the largest": [ratio_interval(each.high.ratio) for each in found.methods],
        "k grows by the factor": [ratio_interval(each.growth) for each in found.methods],
        "for each tenfold C": [ratio_interval(each.per_tenfold) for each in found.methods],
        f"{found.a} is extrapolated to": [each.beyond or "no" for each in found.methods],
    }
    return Table(
        "Compute multiplier k",
        ("", *(each.method for each in found.methods)),
        [(name, *values) for name, values in cells.items()],
        f"{found.a} needs k times the compute C for the loss that {found.b} reaches with C. In brackets: 95 % intervals.",
    )


def _loss_curves(found: RecipeTransfer) -> list[MarkGroup]:
    """The curves over their measured compute. Those of a second method are dashed, without a band and points."""
    fitted = [
        (f"{name}, {method.method}", recipe, np.geomspace(each.lowest, each.highest, POINTS), each)
        for method in found.methods
        for recipe, (name, each) in enumerate(zip((found.a, found.b), method.curves, strict=True))
    ]
    losses = [each.frontier.losses(np.log(grid)) for *_, grid, each in fitted]
    minima = [[(compute, estimate(rows, each.freedom)) for compute, rows in each.points] for *_, each in fitted[:2]]
    shown = [loss for rows in losses for loss in rows[0]] + [loss.value for points in minima for _, loss in points]
    curves = []
    for (name, recipe, grid, each), rows, points in zip(fitted[:2], losses, minima, strict=False):
        values = [estimate(column, each.freedom) for column in rows.T]
        band = [(compute, value.low, value.high) for compute, value in zip(grid, values, strict=True)]
        lowest = [(compute, loss.value) for compute, loss in points]
        intervals = [(loss.low, loss.high) for _, loss in points]
        line = list(zip(grid, rows[0], strict=True))
        curves.append(curve(name, line, _cut(band, shown, MOST_LOSS), lowest, intervals, colour=recipe))
    for (name, recipe, grid, _), rows in zip(fitted[2:], losses[2:], strict=True):
        curves.append(curve(name, list(zip(grid, rows[0], strict=True)), dashed=True, colour=recipe))
    return curves


def _multipliers(found: RecipeTransfer) -> list[MarkGroup]:
    """A curve for each method, and the line at which both recipes need the same compute."""
    values = [place.ratio.value for method in found.methods for place in method.places]
    curves = [
        curve(
            method.method,
            [(place.flops, place.ratio.value) for place in method.places if 0 < place.ratio.value < math.inf],
            _cut([(place.flops, place.ratio.low, place.ratio.high) for place in method.places], values, MOST_MULTIPLIER),
            dashed=index > 0,
            colour=2 + index,
        )
        for index, method in enumerate(found.methods)
    ]
    flops = [place.flops for method in found.methods for place in method.places]
    return [curve("equal", [(min(flops), 1.0), (max(flops), 1.0)]), *curves]


def _cut(band: Sequence[BandPlace], values: Sequence[float], most: float) -> list[BandPlace]:
    """A band without what lies far from all these values, so that the figure shows the lines."""
    finite = [value for value in values if 0 < value < math.inf] or [1.0]
    low, high = min(finite) / most, max(finite) * most
    return [(x, float(np.clip(first, low, high)), float(np.clip(last, low, high))) for x, first, last in band]
