"""Two recipes compared by their scaling curves, in words, a table and pictures."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glasshouse.results.scaling import LossCurve, MultiplierCurve, ScalingTable, TransferContent
from glasshouse.scaling.loss_frontier import MethodFrontier
from glasshouse.scaling.recipe_transfer import RecipeTransfer, ratio_interval
from glasshouse.scaling.regression import estimate

BandPlace = tuple[float, float, float]  # x, low and high
# Points of a drawn line.
POINTS = 60
# Bands are cut at so many times the largest value of all lines, and at one over so many of the smallest.
MOST_MULTIPLIER, MOST_LOSS = 10.0, 1.5


def content(found: RecipeTransfer) -> TransferContent:
    """Everything that the page shows."""
    subtitle = "How much compute is the second recipe worth, and does that grow with scale?"
    return TransferContent(
        f"{found.a} and {found.b}",
        subtitle,
        found.verdicts,
        found.notes,
        [multiplier_table(found)],
        _loss_curves(found),
        _multipliers(found),
    )


def multiplier_table(found: RecipeTransfer) -> ScalingTable:
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
    return ScalingTable(
        "Compute multiplier k",
        ("", *(each.method for each in found.methods)),
        [(name, *values) for name, values in cells.items()],
        f"{found.a} needs k times the compute C for the loss that {found.b} reaches with C. In brackets: 95 % intervals.",
    )


def _loss_curves(found: RecipeTransfer) -> list[LossCurve]:
    curves = [
        _loss_curve(name, recipe, curve, index > 0)
        for index, method in enumerate(found.methods)
        for recipe, (name, curve) in enumerate(zip((found.a, found.b), method.curves, strict=True))
    ]
    losses = [loss for curve in curves for _, loss in (*curve.line, *curve.points)]
    return [replace(curve, band=_cut(curve.band, losses, MOST_LOSS)) for curve in curves]


def _loss_curve(name: str, recipe: int, curve: MethodFrontier, further: bool) -> LossCurve:
    """The curve over its measured compute. A second method is dashed and has no band."""
    grid = np.geomspace(curve.lowest, curve.highest, POINTS)
    losses = curve.frontier.losses(np.log(grid))
    line = [(float(compute), float(loss)) for compute, loss in zip(grid, losses[0], strict=True)]
    if further:
        return LossCurve(f"{name}, {curve.method}", recipe, True, line)
    values = [estimate(column, curve.freedom) for column in losses.T]
    points = [(compute, estimate(rows, curve.freedom)) for compute, rows in curve.points]
    return LossCurve(
        f"{name}, {curve.method}",
        recipe,
        False,
        line,
        [(float(compute), value.low, value.high) for compute, value in zip(grid, values, strict=True)],
        [(compute, loss.value) for compute, loss in points],
        [(loss.low, loss.high) for _, loss in points],
    )


def _multipliers(found: RecipeTransfer) -> list[MultiplierCurve]:
    values = [place.ratio.value for method in found.methods for place in method.places]
    return [
        MultiplierCurve(
            method.method,
            [(place.flops, place.ratio.value) for place in method.places if 0 < place.ratio.value < math.inf],
            _cut([(place.flops, place.ratio.low, place.ratio.high) for place in method.places], values, MOST_MULTIPLIER),
        )
        for method in found.methods
    ]


def _cut(band: Sequence[BandPlace], values: Sequence[float], most: float) -> list[BandPlace]:
    """A band without what lies far from all these values, so that the figure shows the lines."""
    finite = [value for value in values if 0 < value < math.inf] or [1.0]
    low, high = min(finite) / most, max(finite) * most
    return [(x, float(np.clip(first, low, high)), float(np.clip(last, low, high))) for x, first, last in band]
