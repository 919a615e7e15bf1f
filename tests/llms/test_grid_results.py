"""What a grid shows: accuracy, agreement, costs, and verdicts that few questions cannot give."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import glasshouse
from glasshouse.llms.answer_grid import AnswerGrid, GridAnswer
from glasshouse.llms.grid_results import agreement_of, results_of
from glasshouse.llms.language_model import GridOptions
from glasshouse.llms.model_list import ModelEntry
from glasshouse.llms.questions import PromptQuestion, parse_check
from glasshouse.pages import grid_page


def answer(question, model, repeat, passed, text=""):
    return GridAnswer(question, model, repeat, 0, text or f"{passed}", "end", 10, 5, 0.5, 0.001, passed)


def grid(scores, repeats=2):
    """From model -> for each question whether it is right."""
    answers = [
        answer(f"q{number}", model, repeat, right)
        for repeat in range(repeats)
        for model, rights in scores.items()
        for number, right in enumerate(rights)
    ]
    return SimpleNamespace(answers=answers, models=[SimpleNamespace(name=model) for model in scores])


def test_scores_count_what_was_made():
    good, bad = results_of(grid({"good": [True, True, False], "bad": [False] * 3})).scores
    assert (good.passed, good.checked, good.answers, good.tokens) == (4, 6, 6, 30)
    assert good.accuracy.share == pytest.approx(2 / 3)
    assert good.cost == pytest.approx(0.006)
    assert good.seconds == pytest.approx(3.0)
    assert bad.accuracy.low == 0.0
    assert 0 < bad.accuracy.high < 1
    assert good.agreement.share == 1.0
    assert good.agreement.low < 1


def test_two_answers_agree_if_both_pass_or_if_their_texts_are_the_same():
    right, other_right = answer("q", "m", 0, True, "2.96"), answer("q", "m", 1, True, "It is 2.96")
    wrong, same_wrong, other_wrong = (answer("q", "m", n, False, text) for n, text in enumerate(["3 a", " 3  A", "4"]))
    assert agreement_of([right, other_right]) == 1.0
    assert agreement_of([wrong, same_wrong]) == 1.0
    assert agreement_of([wrong, other_wrong]) == 0.0
    assert agreement_of([right, other_right, wrong]) == pytest.approx(1 / 3)


def test_many_questions_show_which_model_is_better():
    scores = {"a": [False] * 20 + [True] * 4, "b": [True] * 22 + [False] * 2, "c": [False] * 19 + [True] * 5}
    b, c = results_of(grid(scores)).comparisons
    assert (b.word, c.word) == ("better", "undecided")
    assert b.sentence.startswith("b is better than a on 24 questions (difference 0.")
    assert "more questions would settle it" in c.sentence


def test_few_questions_show_nothing_even_if_all_agree():
    """A t-test takes equal differences for certain ones."""
    (comparison,) = results_of(grid({"a": [False] * 3, "b": [True] * 3})).comparisons
    assert comparison.word == "undecided"
    assert "a difference of +1 in each" in comparison.sentence
    assert results_of(grid({"a": [False] * 8, "b": [True] * 8})).comparisons[0].word == "better"
    assert results_of(grid({"a": [True] * 8, "b": [True] * 8})).comparisons[0].word == "undecided"
    assert results_of(grid({"a": [True] * 80, "b": [True] * 80})).comparisons[0].word == "no difference"
    assert "needs 2" in results_of(grid({"a": [True], "b": [False]})).comparisons[0].sentence


def test_without_checks_and_without_answers_there_are_no_scores():
    nothing = results_of(grid({"a": [], "b": []}))
    assert [score.accuracy for score in nothing.scores] == [None, None]
    assert nothing.comparisons == ()
    read = grid({"a": [None, None], "b": [None, None]})
    assert results_of(read).comparisons == ()
    assert results_of(read).scores[0].checked == 0


def test_a_report_is_written_from_the_answers(server, tmp_path):
    check = parse_check({"number": 2.96, "tolerance": 0.01})
    questions = [PromptQuestion("division", "What is 77 / 26?", checks=(check,))]
    models = [ModelEntry(name, "openai", name, Path(), (0.0, 1.0), base_url=server.address) for name in ("one", "two")]
    grid = AnswerGrid(questions, models, GridOptions(repeats=2), tmp_path / "g")
    assert "4 of 4 answers are missing; the same command continues." in grid_page.notes(grid, results_of(grid))
    page = glasshouse.llms.run_grid(grid, show=lambda event: None).page.read_text()
    assert "are missing" not in page
    assert "2 of 2 right" in page
    assert "It is 2.96, about." in page
    results = json.loads((tmp_path / "g" / "results.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert results["scores"][0]["accuracy"]["share"] == 1.0
    assert results["scores"][0]["cost"] == 8.0
    assert results["comparisons"][0]["word"] == "undecided"


def test_checks_and_costs_in_words():
    assert parse_check({"exact": "a"}).rule == "is “a”"
    assert parse_check({"number": 2, "tolerance": 0.5}).rule == "has a number within 0.5 of 2"
    assert parse_check({"python": "pass"}).rule.startswith("has Python code")
    assert [grid_page.cost_text(cost) for cost in (None, 0.00123, 1234.5)] == ["–", "0.0012", "1,234.50"]
