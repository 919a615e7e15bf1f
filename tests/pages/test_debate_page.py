"""The page of a debate: self-contained, escaped, with marked phrases and pictures of the measures."""

import math

from glasshouse.pages.chart import Chart, Dots, Interval
from glasshouse.pages.debate_page import axis_end, picture, render
from glasshouse.results.language_models import (
    DebateContent,
    MeasureBlock,
    MeasuredModel,
    ModelPoints,
    PointText,
    TranscriptPart,
    written,
    written_interval,
)
from glasshouse.results.table import Table
from glasshouse.verdicts.mean_intervals import NO_MEAN, MeanWithInterval
from tests.pages.html_outline import Outline, assert_self_contained

SHARE = MeanWithInterval(0.25, 0.1, 0.5, 12)
NASTY = "<script>alert(1)</script> & \0 \ud800"


def block(
    value: MeanWithInterval = SHARE, control: MeanWithInterval = NO_MEAN, share: bool = True, model: str = NASTY
) -> MeasureBlock:
    return MeasureBlock("repetition", "what it is", "another topic", (MeasuredModel(model, value, control),), share)


def content(text: str) -> DebateContent:
    point = PointText(text, ((text, False), (text, True)), (text,), (text,))
    return DebateContent(
        text,
        (text,),
        text,
        (block(model=text), block(NO_MEAN, model=text)),
        (Table(text, ("model", text), ((text, text),), text),),
        (text,),
        (TranscriptPart(text, (ModelPoints(text, (point,), (PointText("empty", ()),)),)),),
    )


def test_the_page_is_self_contained_and_escapes_what_models_write() -> None:
    page = render(content(NASTY))
    outline = Outline(page)
    assert_self_contained(page, outline)
    assert "<script>" not in page
    # The marked piece, and the word that explains the marks.
    assert [tag for tag, _ in outline.elements].count("mark") == 2
    assert "no text" in outline.text


def marks(chart: Chart) -> dict[str, list]:
    """What stands on the axis: intervals, and dots by their shape."""
    found: dict[str, list] = {}
    for mark in (mark for group in chart.series for mark in group.marks):
        if isinstance(mark, Interval):
            found.setdefault("interval", []).append((mark.low, mark.high))
        elif isinstance(mark, Dots) and math.isfinite(mark.x[0]):
            found.setdefault(mark.shape, []).append(mark.x[0])
    return found


def test_a_picture_has_a_dot_an_interval_and_a_control_where_there_are_values() -> None:
    drawn = picture(block(SHARE, SHARE).models[0], block(SHARE, SHARE))
    assert "25 % (10 to 50 %)" in drawn.title
    assert marks(drawn) == {"interval": [(0.1, 0.5)], "diamond": [0.25], "dot": [0.25]}
    drawn = picture(block(MeanWithInterval(0.25, math.nan, math.nan, 3)).models[0], block())
    assert marks(drawn) == {"dot": [0.25]}
    assert marks(picture(block(NO_MEAN).models[0], block(NO_MEAN))) == {}


def test_numbers_as_text() -> None:
    assert (written(SHARE, True), written_interval(SHARE, True)) == ("25 %", "10 to 50 %")
    assert (written(SHARE, False), written_interval(SHARE, False)) == ("0.250", "0.100 to 0.500")
    assert (written(NO_MEAN, True), written_interval(NO_MEAN, True)) == ("–", "")
    assert axis_end(block(share=True)) == 1
    assert axis_end(block(MeanWithInterval(0.03, 0.01, 0.09, 9), share=False)) == 0.1
    assert axis_end(block(NO_MEAN, share=False)) == 0.05
