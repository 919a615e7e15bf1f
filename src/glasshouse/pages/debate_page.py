"""The page of a debate: the measures as small pictures, and the points for and against side by side. Knows no models."""

import math

from glasshouse.pages import svg_chart, template
from glasshouse.pages.chart import Axis, Chart, Dots, Interval, Line, Mark, MarkGroup
from glasshouse.results.language_models import (
    PHRASE,
    DebateContent,
    MeasureBlock,
    MeasuredModel,
    written,
    written_interval,
)

TONES = ("accent", "ochre", "blue", "plum", "quiet")
# Ends of the axis of a small picture; the first that holds all values is chosen.
AXIS_ENDS = (0.05, 0.1, 0.2, 0.5, 1.0)


def render(content: DebateContent) -> str:
    tones = {model: TONES[index % len(TONES)] for index, model in enumerate(content.models)}
    return template.fill(
        "debate.html",
        ("page.css", "debate.css"),
        content=content,
        picture=picture,
        draw=svg_chart.draw,
        written=written,
        tones=tones,
        axis_end=axis_end,
        phrase=PHRASE,
    )


def axis_end(block: MeasureBlock) -> float:
    """The end of the axis that all models of a measure share."""
    if block.share:
        return 1.0
    numbers = [
        number
        for row in block.models
        for number in (row.value.value, row.value.high, row.control.value)
        if math.isfinite(number)
    ]
    return next((end for end in AXIS_ENDS if end >= max(numbers, default=0.0)), 1.0)


def picture(row: MeasuredModel, block: MeasureBlock, tone: str = TONES[0]) -> Chart:
    """A dot with its interval on an axis from 0, and a grey diamond for the control."""
    end = axis_end(block)
    marks: list[Mark] = [Line((place, place), (0.3, 0.7), width=1) for place in (0.0, end / 2, end)]
    axis = MarkGroup([Line((0, end), (0.5, 0.5), width=1), *marks], tone="quiet")
    value, control = row.value, row.control
    found: list[Mark] = [Interval(0.5, value.low, value.high, across=True, cap=0)] if math.isfinite(value.low) else []
    found.append(Dots([value.value], [0.5], size=9))
    label = f"{block.name} of {row.model}: {written(value, block.share)}"
    if spread := written_interval(value, block.share):
        label += f" ({spread})"
    if math.isfinite(control.value):
        label += f", control {written(control, block.share)}"
    series = [axis, MarkGroup([Dots([control.value], [0.5], size=11, shape="diamond")], tone="soft")]
    series.append(MarkGroup(found, tone=tone, about=label))
    return Chart(label, Axis(0, end), {"linear": Axis(0, 1)}, series, grid="x", width=260, height=22)
