"""The page of a grid: complete, offline, escaped, and valid when there is little to show."""

from glasshouse.pages.grid_page import parts, render
from glasshouse.results.language_models import (
    GridContent,
    ShownAnswer,
    ShownColumn,
    ShownModel,
    ShownQuestion,
)
from glasshouse.verdicts.proportions import Proportion

from .html_outline import Outline, assert_self_contained

HOSTILE = "<script>alert(1)</script> {{ 7 * 7 }} \x00"


def content(text: str = "Here:\n```python\na = 1\n```\nand so on", cost: str = "0.0012") -> GridContent:
    answers = (ShownAnswer(text, "right", "", "seed 1"), ShownAnswer("", "wrong", "no number", "seed 2"))
    columns = (ShownColumn("large", "1 of 2 right", answers), ShownColumn("small", "", ()))
    models = (
        ShownModel("large", "large-1 at a server", Proportion(0.5, 0.1, 0.9, 2.0), "1 of 2", None, "12", "1.5 s", cost),
        ShownModel("small", "run small, step 2", None, "", None, "0", "0 s", ""),
    )
    questions = (ShownQuestion("division", text, "Be brief.", ("has a number",), columns),)
    return GridContent("mine", "1 question", models, ("small is undecided",), ("a note",), questions, "glasshouse grid")


def test_the_page_is_complete_and_makes_no_network_request() -> None:
    page = render(content())
    outline = Outline(page)
    policy = next(attributes["content"] for _, attributes in outline.elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert_self_contained(page, outline)
    for text in ("mine", "50 %", "10 to 90 %", "1 of 2 right", "no number", "small is undecided", "a note", "Be brief."):
        assert text in outline.text
    for text in ("right if it has a number", "0.0012", "1 more", "no answer", "(empty)"):
        assert text in " ".join(outline.text.split())


def test_code_is_set_as_code() -> None:
    answer = ShownAnswer("Here:\n```python\na = 1\n```\nand\n```\nb = 2", "read", "", "")
    assert parts(answer) == [(False, "Here:"), (True, "a = 1"), (False, "and"), (True, "b = 2")]
    assert parts(ShownAnswer(" \n", "read", "", "")) == []


def test_text_is_escaped() -> None:
    outline = Outline(render(content(HOSTILE)))
    assert "script" not in [tag for tag, _ in outline.elements]
    assert "{{ 7 * 7 }}" in outline.text


def test_without_prices_there_is_no_column_of_costs() -> None:
    assert "cost" in Outline(render(content())).text
    assert "cost" not in Outline(render(content(cost=""))).text
