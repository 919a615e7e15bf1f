"""The page of a scaling study, or of two recipes compared by their scaling curves: a plain answer, figures, tables.

It is one HTML file that works offline. Knows nothing of how the laws were fitted.
"""

import numpy as np

from glasshouse.pages import chart, svg_chart, template
from glasshouse.pages.chart import Axis, Band, Chart, Dots, Interval, Line, Mark, MarkGroup
from glasshouse.pages.colours import FIGURE_TONES
from glasshouse.results.scaling import ScalingContent, ScalingCurve, ScalingFigure


def render(content: ScalingContent) -> str:
    return template.fill("scaling.html", content=content, draw=draw)


def draw(figure: ScalingFigure) -> str:
    """The SVG of a figure. Its axes show all points, lines and bands; intervals may be cut."""
    series = list(map(_series, figure.curves))
    x_axis, y_axis = map(_axis, chart.spanned(series))
    x_label, y_label = figure.x_label, figure.y_label
    title, scales = f"{y_label} over {x_label}", {"linear": y_axis}
    drawn = Chart(title, x_axis, scales, series, (), x_label, y_label, grid="xy", width=560, height=340)
    return svg_chart.draw(drawn, alone=True)


def _series(curve: ScalingCurve) -> MarkGroup:
    marks: list[Mark] = []
    if curve.band:
        marks.append(Band(*zip(*curve.band, strict=True)))
    if curve.line:
        marks.append(Line(*zip(*curve.line, strict=True), width=1.8))
    for place, ends in zip(curve.points, curve.intervals, strict=False):
        marks.append(Interval(place[curve.across], *ends, across=curve.across, cap=0, width=1))
    if curve.points:
        marks.append(Dots(*zip(*curve.points, strict=True), size=6.4, shape="ring" if curve.hollow else "dot"))
    tone = "soft" if curve.colour is None else FIGURE_TONES[curve.colour % len(FIGURE_TONES)]
    return MarkGroup(marks, curve.name, tone, dash=int(curve.dashed))


def _axis(values: np.ndarray) -> Axis:
    if chart.allows_log_axis(values):
        return chart.logarithmic(values.min(), values.max())
    return chart.linear(*(values.min(), values.max()) if len(values) else (0.0, 1.0))
