"""The page of a debate: the measures as small pictures, and the points for and against side by side. Knows no models."""

import math
from html import escape

from glasshouse.pages import template
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
WIDTH, HEIGHT, EDGE = 260, 22, 6


def render(content: DebateContent) -> str:
    """The whole page."""
    tones = {model: TONES[index % len(TONES)] for index, model in enumerate(content.models)}
    return template.fill(
        "debate.html",
        ("page.css", "debate.css"),
        content=content,
        picture=picture,
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


def picture(row: MeasuredModel, block: MeasureBlock) -> str:
    """A dot with its interval on an axis from 0, and a hollow diamond for the control."""
    end = axis_end(block)

    def x(value: float) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * min(max(value / end, 0.0), 1.0)

    middle = HEIGHT / 2
    body = [f'<line class="axis" x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{middle}" y2="{middle}"/>']
    body += [
        f'<line class="axis" x1="{x(end * part):.1f}" x2="{x(end * part):.1f}" y1="{middle - 3}" y2="{middle + 3}"/>'
        for part in (0, 0.5, 1)
    ]
    if math.isfinite(row.control.value):
        place = x(row.control.value)
        corners = ((place, middle - 5.5), (place + 5.5, middle), (place, middle + 5.5), (place - 5.5, middle))
        body.append('<polygon class="control" points="{}"/>'.format(" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)))
    if math.isfinite(row.value.low):
        ends = f'x1="{x(row.value.low):.1f}" x2="{x(row.value.high):.1f}"'
        body.append(f'<line class="interval" {ends} y1="{middle}" y2="{middle}"/>')
    if math.isfinite(row.value.value):
        body.append(f'<circle class="mean" cx="{x(row.value.value):.1f}" cy="{middle}" r="4.6"/>')
    label = f"{block.name} of {row.model}: {written(row.value, block.share)}"
    if spread := written_interval(row.value, block.share):
        label += f" ({spread})"
    if math.isfinite(row.control.value):
        label += f", control {written(row.control, block.share)}"
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}"'
    return f'<svg class="strip" {size}><title>{escape(label)}</title>{"".join(body)}</svg>'
