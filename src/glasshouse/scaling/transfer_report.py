"""Two recipes compared by their scaling curves, in words, a table and pictures."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glasshouse.results.scaling import BandPlace, ScalingContent, ScalingCurve, ScalingFigure
from glasshouse.results.table import Table
from glasshouse.scaling.loss_frontier import MethodFrontier
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
    """Everything that the page shows."""
    subtitle = "How much compute is the second recipe worth, and does that grow with scale?"
    figures = [
        ScalingFigure("losses", COMPUTE, "lowest loss", LOSS_CAPTION, _loss_curves(found)),
        ScalingFigure("multiplier", COMPUTE, "compute multiplier k", MULTIPLIER_CAPTION, _multipliers(found)),
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


def _loss_curves(found: RecipeTransfer) -> list[ScalingCurve]:
    curves = [
        _loss_curve(name, recipe, curve, index > 0)
        for index, method in enumerate(found.methods)
        for recipe, (name, curve) in enumerate(zip((found.a, found.b), method.curves, strict=True))
    ]
    losses = [loss for curve in curves for _, loss in (*curve.line, *curve.points)]
    return [replace(curve, band=_cut(curve.band, losses, MOST_LOSS)) for curve in curves]


def _loss_curve(name: str, recipe: int, curve: MethodFrontier, further: bool) -> ScalingCurve:
    """The curve over its measured compute. A second method is dashed and has no band."""
    grid = np.geomspace(curve.lowest, curve.highest, POINTS)
    losses = curve.frontier.losses(np.log(grid))
    line = [(float(compute), float(loss)) for compute, loss in zip(grid, losses[0], strict=True)]
    if further:
        return ScalingCurve(f"{name}, {curve.method}", line, dashed=True, colour=recipe)
    values = [estimate(column, curve.freedom) for column in losses.T]
    points = [(compute, estimate(rows, curve.freedom)) for compute, rows in curve.points]
    return ScalingCurve(
        f"{name}, {curve.method}",
        line,
        [(float(compute), value.low, value.high) for compute, value in zip(grid, values, strict=True)],
        [(compute, loss.value) for compute, loss in points],
        [(loss.low, loss.high) for _, loss in points],
        colour=recipe,
    )


def _multipliers(found: RecipeTransfer) -> list[ScalingCurve]:
    """A curve for each method, and the line at which both recipes need the same compute."""
    values = [place.ratio.value for method in found.methods for place in method.places]
    curves = [
        ScalingCurve(
            method.method,
            [(place.flops, place.ratio.value) for place in method.places if 0 < place.ratio.value < math.inf],
            _cut([(place.flops, place.ratio.low, place.ratio.high) for place in method.places], values, MOST_MULTIPLIER),
            dashed=index > 0,
            colour=2 + index,
        )
        for index, method in enumerate(found.methods)
    ]
    flops = [place.flops for method in found.methods for place in method.places]
    return [ScalingCurve("equal", [(min(flops), 1.0), (max(flops), 1.0)]), *curves]


def _cut(band: Sequence[BandPlace], values: Sequence[float], most: float) -> list[BandPlace]:
    """A band without what lies far from all these values, so that the figure shows the lines."""
    finite = [value for value in values if 0 < value < math.inf] or [1.0]
    low, high = min(finite) / most, max(finite) * most
    return [(x, float(np.clip(first, low, high)), float(np.clip(last, low, high))) for x, first, last in band]
