"""The page as text: whole, offline, escaped, and standing whatever is missing or odd."""

import dataclasses
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from glasshouse.formatting import percentage
from glasshouse.pages.report_page import AttentionMap, Curve, Report, Sample, Token, render
from glasshouse.pages.token_shading import shade, shaded

from . import example

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Collects elements and checks that every one is closed in turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.text += data


def empty() -> Report:
    return Report("t", "s", (), (), (), (), None, (), (), "", ())


def test_the_page_is_whole_and_asks_nothing_of_the_network() -> None:
    page = render(example.report())
    outline = Outline(page)
    for _, attributes in outline.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert (attributes.get(name) or "data:").startswith("data:")
    assert {tag for tag, _ in outline.elements}.isdisjoint({"link", "iframe", "object", "embed", "form", "base"})
    assert "@import" not in page
    assert "url(" not in page
    # The only address is the name of the SVG language, which is never fetched.
    assert set(re.findall(r"https?://[^\s\"']*", page)) == {"http://www.w3.org/2000/svg"}
    policy = next(attributes["content"] for _, attributes in outline.elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:")


def test_everything_given_is_shown() -> None:
    report = example.report()
    words = Outline(render(report)).text
    for _, figure in report.headline:
        assert figure in words
    for line in (*report.notes, *report.commands, report.spec, report.subtitle):
        assert line in words
    for comparison in report.prediction:
        assert comparison.measured in words


def test_text_is_shown_as_text() -> None:
    page = render(example.nasty())
    outline = Outline(page)
    # One script for the sample's data, one for the attention's, one for the page: none from the text.
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
        {"parameters": (), "prediction": (), "machine": (), "notes": (), "commands": (), "headline": ()},
    ],
)
def test_what_is_missing_or_odd_is_borne(change: dict) -> None:
    Outline(render(dataclasses.replace(example.report(), **change)))


def test_an_empty_report_is_a_page() -> None:
    page = render(empty())
    Outline(page)
    assert "How it learned" not in page
    assert "What it writes" not in page
    assert "Where it looks" not in page


def test_shades_follow_probability() -> None:
    assert [shade(probability) for probability in (0, 0.009, 0.01, 0.3, 0.8, 1)] == [0, 0, 1, 3, 5, 5]
    written = [percentage(probability) for probability in (0, 1e-9, 0.00004, 0.312, 0.9999, 1)]
    assert written == ["0 %", "under 0.001 %", "0.004 %", "31.2 %", "over 99.9 %", "100 %"]


def test_a_prompt_that_is_not_among_the_tokens_comes_first() -> None:
    sample = shaded(Sample("Once", (Token(" upon\n", 0.5),)))
    assert [token.shade for token in sample.tokens] == [None, 4]
    assert sample.tokens[1].pieces == ((False, " upon"), (True, "⏎"), (False, "\n"))
    assert sample.caption == "1 token written, each with 50.0 % on average (geometric mean)"
