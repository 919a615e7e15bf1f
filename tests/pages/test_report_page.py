"""The HTML page of a run: complete, offline, escaped, and valid when content is missing or unusual."""

import dataclasses
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from glasshouse.pages import svg_chart
from glasshouse.pages.chart import Line
from glasshouse.pages.report_page import MOST_DOTS, bar_chart, render, scatter_chart
from glasshouse.results.report import AttentionMap, Confusion, Curve, Report, Sample, Token
from glasshouse.results.table import Table

from . import example_report as example
from .html_outline import Outline, assert_self_contained


def empty_report() -> Report:
    return Report(title="t", subtitle="s")


def test_the_page_is_complete_and_makes_no_network_request() -> None:
    page = render(example.report())
    outline = Outline(page)
    assert_self_contained(page, outline)
    policy = next(attributes["content"] for _, attributes in outline.elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:")


def test_the_page_shows_all_content_of_the_report() -> None:
    report = example.report()
    text = Outline(render(report)).text
    for _, number in report.headline:
        assert number in text
    for line in (*report.notes, *report.commands, report.spec, report.subtitle):
        assert line in text
    assert report.planned_costs is not None
    for row in report.planned_costs.rows:
        assert row[-1] in text


def test_text_is_escaped() -> None:
    page = render(example.hostile())
    outline = Outline(page)
    # The page has three scripts: the data of the sample, the data of the attention map, and the code.
    assert [tag for tag, _ in outline.elements].count("script") == 3
    assert "<b>bold" not in page
    assert "{{ 7 * 7 }}" in outline.text
    page.encode("utf-8")


def test_a_page_stays_small() -> None:
    report = dataclasses.replace(example.report(50_000), attention=example.attention(4, 4, 64))
    assert len(render(report).encode()) < 1_000_000


@pytest.mark.parametrize(
    "change",
    [
        {"loss": (), "quality": ()},
        {"loss": (Curve("training loss", [1], [3.0]),)},
        {"loss": (Curve("training loss", [], []),)},
        {
            "loss": (Curve("training loss", [1, 2, 3], [3.0, math.nan, math.inf]),),
            "other": (Curve("x", [1], [math.nan]),),
        },
        {"attention": None},
        {"attention": AttentionMap(("one",), np.ones((1, 1, 1, 1)))},
        {"samples": ()},
        {"samples": (Sample("", ()),)},
        {"samples": (Sample("long", (Token("x" * 5000, 0.2), Token("", math.nan))),)},
        {"parameters": (), "planned_costs": None, "machine": (), "notes": (), "commands": (), "headline": ()},
    ],
)
def test_missing_or_unusual_content_gives_a_valid_page(change: dict) -> None:
    Outline(render(dataclasses.replace(example.report(), **change)))


def test_an_empty_report_gives_a_page_without_empty_sections() -> None:
    page = render(empty_report())
    Outline(page)
    for section in ("learning", "samples", "attention", "confusion"):
        assert f'<section id="{section}">' not in page


def test_the_page_shows_the_confusion_matrix_and_escapes_its_labels() -> None:
    confusion = Confusion((example.HOSTILE, "b"), [[3, 1], [0, 4]], "8 test texts")
    errors = Table("Most confident errors", ("text",), ((example.HOSTILE,),))
    page = render(dataclasses.replace(example.report(), confusion=confusion, errors=errors))
    outline = Outline(page)
    assert "alert(1)</script>" not in page
    assert "Most confident errors" in outline.text
    assert "8 test texts" in outline.text
    assert "Confusion matrix" in outline.text
    assert "Confusion matrix" not in render(example.report())


TRUTH, PREDICTIONS = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 2.0])


def test_a_right_prediction_lies_on_the_line() -> None:
    equal = Line((1, 3), (1, 3))
    drawn = scatter_chart(TRUTH, PREDICTIONS, equal, "true", "Predicted over true number")
    rule, dots = drawn.series
    assert rule.marks == [equal]
    assert list(dots.marks[0].y) == [1.0, 2.5, 2.0]
    assert drawn.x.low <= 1 < 3 <= drawn.x.high


def test_of_very_many_texts_some_are_drawn_and_equal_numbers_can_be() -> None:
    many = np.arange(MOST_DOTS * 3, dtype=float)
    for numbers, count in ((many, MOST_DOTS), (np.ones(2), 2)):
        chart = scatter_chart(numbers, numbers, Line((0, 1), (0, 1)), "true", "title")
        assert len(chart.series[1].marks[0].x) == count
        ElementTree.fromstring(svg_chart.draw(chart))


def test_a_bar_shows_its_share_and_escapes_its_name() -> None:
    svg = svg_chart.draw(bar_chart((("embedding", 750), ("a <very> long name for a part of a model", 250), ("none", 0))))
    ElementTree.fromstring(svg)
    assert "75%" in svg
    assert "a &lt;very&gt; long nam" in svg
