"""The page of a grid: complete, offline, escaped, and valid when there is little to show."""

from types import SimpleNamespace
from typing import Any

from glasshouse.llms.answer_grid import GridAnswer
from glasshouse.llms.grid_results import GridResults, ModelComparison, ModelScore
from glasshouse.llms.language_model import GridOptions
from glasshouse.llms.questions import PromptQuestion
from glasshouse.pages.grid_page import parts, render
from glasshouse.verdicts.mean_intervals import Proportion

from .html_outline import Outline, assert_self_contained

HOSTILE = "<script>alert(1)</script> {{ 7 * 7 }} \x00"


def content(text: str = "Here:\n```python\na = 1\n```\nand so on", cost: float | None = 0.0012) -> tuple[Any, GridResults]:
    check = SimpleNamespace(rule="has a number")
    first = GridAnswer("division", "large", 0, 1, text, "end", 3, 12, 1.5, cost, True)
    second = GridAnswer("division", "large", 1, 2, "", "length", 3, 1, 1.5, cost, False, "no number")
    grid = SimpleNamespace(
        title="mine",
        questions=(PromptQuestion("division", text, system="Be brief.", checks=(check,)),),
        models=(SimpleNamespace(name="large"), SimpleNamespace(name="small")),
        identities={"large": "large-1 at a server", "small": "run small, step 2"},
        options=GridOptions(repeats=2),
        answers=[first, second],
        failed={},
        missing=lambda: [("division", "small", 0)],
        cells=lambda: range(4),
    )
    scores = (
        ModelScore("large", 2, 1, 2, Proportion(0.5, 0.1, 0.9, 2.0), None, 12, 1.5, cost),
        ModelScore("small", 0, 0, 0, None, None, 0, 0.0, None),
    )
    comparison = ModelComparison("small", "large", "undecided", "small is undecided", 0, 0.0, 0.0, 0.0, 1.0)
    return grid, GridResults(scores, (comparison,))


def test_the_page_is_complete_and_makes_no_network_request() -> None:
    page = render(*content())
    outline = Outline(page)
    policy = next(attributes["content"] for _, attributes in outline.elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert_self_contained(page, outline)
    for text in (
        "mine",
        "50 %",
        "10 to 90 %",
        "1 of 2 right",
        "no number",
        "small is undecided",
        "1 of 4 answers are missing",
        "Be brief.",
    ):
        assert text in outline.text
    for text in ("right if it has a number", "0.0012", "1 more", "no answer", "(empty)"):
        assert text in " ".join(outline.text.split())


def test_code_is_set_as_code() -> None:
    answer = "Here:\n```python\na = 1\n```\nand\n```\nb = 2"
    assert parts(answer) == [(False, "Here:"), (True, "a = 1"), (False, "and"), (True, "b = 2")]
    assert parts(" \n") == []


def test_text_is_escaped() -> None:
    outline = Outline(render(*content(HOSTILE)))
    assert "script" not in [tag for tag, _ in outline.elements]
    assert "{{ 7 * 7 }}" in outline.text


def test_without_prices_there_is_no_column_of_costs() -> None:
    assert "cost" in Outline(render(*content())).text
    assert "cost" not in Outline(render(*content(cost=None))).text
