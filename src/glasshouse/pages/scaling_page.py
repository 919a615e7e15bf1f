"""The pages about scaling: of one study of scaling laws, and of two recipes compared by their scaling curves.

Each is one HTML file that works offline: a plain answer, figures, tables. Knows nothing of how the laws were fitted.
"""

from collections.abc import Sequence

import numpy as np

from glasshouse.pages import chart, svg_chart, template
from glasshouse.pages.chart import Axis, Band, Chart, Dots, Interval, Line, Mark, MarkGroup
from glasshouse.pages.colours import FIGURE_TONES
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
        tone = FIGURE_TONES[index % len(FIGURE_TONES)]
        marks = [*_line(curve.curve), *_dots(curve.points, "ring")]
        series.append(MarkGroup(marks, f"{curve.budget} FLOPs", tone, dash=0 if curve.used else 1))
        if curve.minimum is not None and curve.used:
            bar = Interval(curve.minimum[1], *curve.interval, across=True, cap=0, width=1)
            series.append(MarkGroup([bar, *_dots([curve.minimum])], tone=tone))
    return _figure(series, "parameters N", "loss")


def frontier_figure(frontiers: Sequence[Frontier]) -> str:
    """The best N over compute, with a band for each law."""
    series = [_law(each, each.law, FIGURE_TONES[index]) for index, each in enumerate(frontiers)]
    return _figure(series, "compute C, FLOPs", "best number of parameters N")


def forecast_figure(forecast: ForecastCurve) -> str:
    """The losses of the largest budget over N, as predicted from the smaller ones and as measured."""
    series = [
        MarkGroup([*_band(forecast.band), *_line(forecast.predicted)], "predicted"),
        MarkGroup(_dots(forecast.measured), "measured afterwards", "ochre"),
    ]
    return _figure(series, "parameters N", "loss")


def contour_figure(contours: Sequence[tuple[str, Sequence[Place]]], measured: Sequence[Place]) -> str:
    """Lines of equal loss over N and D, and the measured runs."""
    series = [
        MarkGroup(_line(line), f"loss {name}", FIGURE_TONES[index % len(FIGURE_TONES)])
        for index, (name, line) in enumerate(contours)
    ]
    return _figure([*series, MarkGroup(_dots(measured, "ring"), "measured", "soft")], "parameters N", "tokens D")


def fitted_figure(fitted: Sequence[Place]) -> str:
    """The loss by the law over the measured one."""
    values = [value for place in fitted for value in place]
    ends = [(min(values), min(values)), (max(values), max(values))]
    series = [MarkGroup(_line(ends), "equal", "soft", dash=1), MarkGroup(_dots(fitted, "ring"), "runs")]
    return _figure(series, "measured loss", "loss by the law")


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
    series = [_law(each, each.name, FIGURE_TONES[each.recipe], dash=1 if each.dashed else 0) for each in curves]
    return _figure(series, "compute C, FLOPs", "lowest loss")


def multiplier_figure(multipliers: Sequence[MultiplierCurve]) -> str:
    """The compute multiplier over compute, by method."""
    series = [
        MarkGroup([*_band(each.band), *_line(each.line)], each.method, FIGURE_TONES[2 + index], dash=1 if index else 0)
        for index, each in enumerate(multipliers)
    ]
    places = [x for each in multipliers for x, _, _ in each.band]
    equal = MarkGroup(_line([(min(places), 1.0), (max(places), 1.0)]), "equal", "soft")
    return _figure([equal, *series], "compute C, FLOPs", "compute multiplier k")


def _law(curve: Frontier | LossCurve, name: str, tone: str, dash: int = 0) -> MarkGroup:
    """A fitted line with its band, and the points that it was fitted to, with their intervals."""
    bars = [
        Interval(x, low, high, cap=0, width=1) for (x, _), (low, high) in zip(curve.points, curve.intervals, strict=False)
    ]
    return MarkGroup([*_band(curve.band), *_line(curve.line), *bars, *_dots(curve.points)], name, tone, dash)


def _line(places: Sequence[Place]) -> list[Mark]:
    return [Line(*zip(*places, strict=True), width=1.8)] if places else []


def _dots(places: Sequence[Place], shape: str = "dot") -> list[Mark]:
    return [Dots(*zip(*places, strict=True), size=6.4, shape=shape)] if places else []


def _band(edges: Sequence[tuple[float, float, float]]) -> list[Mark]:
    return [Band(*zip(*edges, strict=True))] if edges else []


def _figure(series: Sequence[MarkGroup], x_label: str, y_label: str) -> str:
    """The chart of series over logarithmic axes. These show all points, lines and bands; bars may be cut."""
    x_axis, y_axis = map(_axis, chart.spanned(series))
    title = f"{y_label} over {x_label}"
    figure = Chart(title, x_axis, {"linear": y_axis}, series, (), x_label, y_label, grid="xy", width=560, height=340)
    return svg_chart.draw(figure, alone=True)


def _axis(values: np.ndarray) -> Axis:
    if chart.allows_log_axis(values):
        return chart.logarithmic(values.min(), values.max())
    return chart.linear(*(values.min(), values.max()) if len(values) else (0.0, 1.0))
