"""The page of a scaling study, or of two recipes compared by their scaling curves. Knows nothing of how laws are fitted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.pages import chart, svg_chart, template
from glasshouse.pages.chart import Axis, Band, Chart, Dots, Interval, Line, Mark, MarkGroup
from glasshouse.pages.colours import FIGURE_TONES
from glasshouse.results.shown import Shown
from glasshouse.results.table import Table

Place = tuple[float, float]
BandPlace = tuple[float, float, float]  # x, low and high


@dataclass(frozen=True)
class ScalingFigure:
    """A chart with a caption. `name` is that of its file."""

    name: str
    caption: str
    chart: Chart


@dataclass(frozen=True)
class ScalingContent(Shown):
    title: str
    subtitle: str
    answers: Sequence[str]
    notes: Sequence[str]
    figures: Sequence[ScalingFigure]
    tables: Sequence[Table]


def render(content: ScalingContent) -> str:
    return template.fill("scaling.html", content=content, draw=svg_chart.draw)


def figure(name: str, x_label: str, y_label: str, caption: str, curves: Sequence[MarkGroup]) -> ScalingFigure:
    """A figure whose axes show all points, lines and bands, if possible logarithmic ones; intervals may be cut."""
    x_axis, y_axis = map(_axis, chart.spanned(curves))
    title, scales = f"{y_label} over {x_label}", {"linear": y_axis}
    drawn = Chart(title, x_axis, scales, curves, (), x_label, y_label, grid="xy", width=560, height=340)
    return ScalingFigure(name, caption, drawn)


def curve(
    name: str,
    line: Sequence[Place] = (),
    band: Sequence[BandPlace] = (),
    points: Sequence[Place] = (),
    intervals: Sequence[Place] = (),
    across: bool = False,
    dashed: bool = False,
    hollow: bool = False,
    colour: int | None = None,
) -> MarkGroup:
    """A line with its band, and points with an interval each, of x if they lie `across`. Measured runs are `hollow`.

    Curves of the same `colour` look alike; None is the quiet one. A curve without a name is not in the legend.
    """
    marks: list[Mark] = []
    if band:
        marks.append(Band(*zip(*band, strict=True)))
    if line:
        marks.append(Line(*zip(*line, strict=True), width=1.8))
    for place, ends in zip(points, intervals, strict=False):
        marks.append(Interval(place[across], *ends, across=across, cap=0, width=1))
    if points:
        marks.append(Dots(*zip(*points, strict=True), size=6.4, shape="ring" if hollow else "dot"))
    tone = "soft" if colour is None else FIGURE_TONES[colour % len(FIGURE_TONES)]
    return MarkGroup(marks, name, tone, dash=int(dashed))


def _axis(values: np.ndarray) -> Axis:
    if chart.allows_log_axis(values):
        return chart.logarithmic(values.min(), values.max())
    return chart.linear(*(values.min(), values.max()) if len(values) else (0.0, 1.0))
