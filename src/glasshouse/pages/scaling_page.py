"""The pages about scaling: of one study of scaling laws, and of two recipes compared by their scaling curves.

Each is one HTML file that works offline: a plain answer, figures, tables. Knows nothing of how the laws were fitted.
"""

from collections.abc import Sequence

from glasshouse.pages import template, xy_figure
from glasshouse.pages.xy_figure import XYSeries
from glasshouse.results.scaling import (
    ForecastCurve,
    Frontier,
    IsoFLOPCurve,
    LossCurve,
    MultiplierCurve,
    PageText,
    Place,
    ScalingContent,
    TransferContent,
)

ISOFLOP_CAPTION = (
    "IsoFLOP curves: models that cost the same compute, by their size. Each minimum, with its 95 % interval, is the best "
    "size for that budget. Dashed: the minimum is not certain, and the budget is left out."
)
FRONTIER_CAPTION = (
    "The best size for a budget, by each law. The bands hold 95 % of the resamples; beyond the measured budgets they widen."
)
FORECAST_CAPTION = (
    "The largest budget, predicted from the smaller ones before it ran, and what was measured. The band holds 95 % of the "
    "predicted runs."
)
CONTOUR_CAPTION = "Lines of equal loss by the parametric law. More parameters or more tokens reach the same loss."
FITTED_CAPTION = "How well the parametric law fits: every run should lie on the dashed line."
LOSS_CAPTION = (
    "The lowest loss for a compute. Points: the lowest loss of each budget's IsoFLOP curve, with its 95 % interval. Lines: "
    "the fitted curves. The bands hold 95 % of the resamples, and are cut far from the lines. Dashed: the parametric law, "
    "if there are both. The horizontal distance between two lines is the compute multiplier."
)
MULTIPLIER_CAPTION = (
    "The compute multiplier k: how many times the compute the first recipe needs for the loss of the second. At 1 both need "
    "the same. The bands hold 95 % of the resamples, and are cut far from the lines."
)


def render(content: ScalingContent) -> str:
    """The whole page."""
    return fill(content, [(figure, caption) for figure, caption in figures(content).values()])


def figures(content: ScalingContent) -> dict[str, tuple[str, str]]:
    """Name -> figure (SVG) and caption, of all figures that the content has."""
    found = {}
    if content.curves:
        found["isoflop"] = isoflop_figure(content.curves), ISOFLOP_CAPTION
    if content.frontiers:
        found["frontier"] = frontier_figure(content.frontiers), FRONTIER_CAPTION
    if content.forecast:
        found["forecast"] = forecast_figure(content.forecast), FORECAST_CAPTION
    if content.contours:
        found["contours"] = contour_figure(content.contours, content.measured), CONTOUR_CAPTION
    if content.fitted:
        found["fitted"] = fitted_figure(content.fitted), FITTED_CAPTION
    return found


def fill(content: PageText, figures: Sequence[tuple[str, str]]) -> str:
    """A page of a text, its tables, and figures (SVG) with their captions."""
    return template.fill("scaling.html", content=content, figures=figures)


def isoflop_figure(curves: Sequence[IsoFLOPCurve]) -> str:
    """Loss over N: a parabola for each budget, with its minimum."""
    series = []
    for index, curve in enumerate(curves):
        series.append(
            XYSeries(f"{curve.budget} FLOPs", curve.points, curve.curve, dashed=not curve.used, colour=index, hollow=True)
        )
        if curve.minimum is not None and curve.used:
            series.append(XYSeries(points=[curve.minimum], bars=[curve.interval], colour=index))
    return xy_figure.draw(series, "parameters N", "loss")


def frontier_figure(frontiers: Sequence[Frontier]) -> str:
    """The best N over compute, with a band for each law."""
    series = [
        XYSeries(each.law, each.points, each.line, each.band, vertical_bars=each.intervals, colour=index)
        for index, each in enumerate(frontiers)
    ]
    return xy_figure.draw(series, "compute C, FLOPs", "best number of parameters N")


def forecast_figure(forecast: ForecastCurve) -> str:
    """The losses of the largest budget over N, as predicted from the smaller ones and as measured."""
    series = [
        XYSeries("predicted", line=forecast.predicted, band=forecast.band, colour=0),
        XYSeries("measured afterwards", forecast.measured, colour=1),
    ]
    return xy_figure.draw(series, "parameters N", "loss")


def contour_figure(contours: Sequence[tuple[str, Sequence[Place]]], measured: Sequence[Place]) -> str:
    """Lines of equal loss over N and D, and the measured runs."""
    series = [XYSeries(f"loss {name}", line=line, colour=index) for index, (name, line) in enumerate(contours)]
    return xy_figure.draw([*series, XYSeries("measured", measured, hollow=True, colour=4)], "parameters N", "tokens D")


def fitted_figure(fitted: Sequence[Place]) -> str:
    """The loss by the law over the measured one."""
    values = [value for place in fitted for value in place]
    ends = [(min(values), min(values)), (max(values), max(values))]
    series = [XYSeries("equal", line=ends, dashed=True, colour=4), XYSeries("runs", fitted, hollow=True, colour=0)]
    return xy_figure.draw(series, "measured loss", "loss by the law")


def render_transfer(content: TransferContent) -> str:
    """The whole page."""
    return fill(content, list(transfer_figures(content).values()))


def transfer_figures(content: TransferContent) -> dict[str, tuple[str, str]]:
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
