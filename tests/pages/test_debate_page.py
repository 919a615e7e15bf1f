"""The page of a debate: self-contained, escaped, with marked phrases and pictures of the measures."""

import math
from pathlib import Path

from glasshouse.llms.debate_measures import CONTRADICTION, REPETITION, Measurement, ModelMeasures
from glasshouse.llms.debate_report import DebateResult, written, written_interval
from glasshouse.llms.debate_rounds import DebateOptions
from glasshouse.pages.chart import Chart, Dots, Interval
from glasshouse.pages.debate_page import axis_end, picture, render
from glasshouse.verdicts.mean_intervals import NO_MEAN, MeanWithInterval
from tests.llms.scripted_models import points_of
from tests.pages.html_outline import Outline, assert_self_contained

SHARE = MeanWithInterval(0.25, 0.1, 0.5, 12)
NASTY = "<script>alert(1)</script> & one two three \0 \ud800"


def result(text: str) -> DebateResult:
    """A debate of one model, which has the same text for and against, and no text."""
    measures = {CONTRADICTION: Measurement(SHARE), REPETITION: Measurement(NO_MEAN)}
    model = ModelMeasures(text, 3, 1, measures, {0.7: measures}, {}, (), {})
    points = points_of(text, [text, text], [""], topic=text)
    return DebateResult(DebateOptions(text, (text,)), tuple(points), (model,), text, None, Path(), text)


def test_the_page_is_self_contained_and_escapes_what_models_write() -> None:
    page = render(result(NASTY))
    outline = Outline(page)
    assert_self_contained(page, outline)
    assert "<script>" not in page
    # The two marked pieces, and the word that explains the marks.
    assert [tag for tag, _ in outline.elements].count("mark") == 3
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
    drawn = picture(CONTRADICTION, "m", Measurement(SHARE, SHARE), 1.0)
    assert "25 % (10 to 50 %)" in drawn.title
    assert marks(drawn) == {"interval": [(0.1, 0.5)], "diamond": [0.25], "dot": [0.25]}
    drawn = picture(CONTRADICTION, "m", Measurement(MeanWithInterval(0.25, math.nan, math.nan, 3)), 1.0)
    assert marks(drawn) == {"dot": [0.25]}
    assert marks(picture(CONTRADICTION, "m", Measurement(NO_MEAN), 1.0)) == {}


def test_numbers_as_text() -> None:
    assert (written(SHARE, True), written_interval(SHARE, True)) == ("25 %", "10 to 50 %")
    assert (written(SHARE, False), written_interval(SHARE, False)) == ("0.250", "0.100 to 0.500")
    assert (written(NO_MEAN, True), written_interval(NO_MEAN, True)) == ("–", "")
    assert axis_end(CONTRADICTION, {"m": Measurement(SHARE)}) == 1
    assert axis_end(REPETITION, {"m": Measurement(MeanWithInterval(0.03, 0.01, 0.09, 9))}) == 0.1
    assert axis_end(REPETITION, {"m": Measurement(NO_MEAN)}) == 0.05
