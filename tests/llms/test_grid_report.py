"""The files of a grid: the page says what was asked and found, and the results are JSON without NaN."""

import json
from pathlib import Path

import pytest

from glasshouse.llms.answer_grid import AnswerGrid, GridOptions
from glasshouse.llms.grid_report import cost_text, write_report
from glasshouse.llms.grid_results import results_of
from glasshouse.llms.model_list import ModelEntry
from glasshouse.llms.questions import PromptQuestion, parse_check


def test_a_report_is_written_from_the_answers(server, tmp_path):
    check = parse_check({"number": 2.96, "tolerance": 0.01})
    questions = [PromptQuestion("division", "What is 77 / 26?", checks=(check,))]
    models = [ModelEntry(name, "openai", name, Path(), (0.0, 1.0), base_url=server.address) for name in ("one", "two")]
    grid = AnswerGrid(questions, models, GridOptions(repeats=2), tmp_path / "g")
    write_report(grid, results_of(grid))
    assert "4 of 4 answers are missing" in (tmp_path / "g" / "report.html").read_text()
    grid.run()
    page = write_report(grid, results_of(grid)).read_text()
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
    assert [cost_text(cost) for cost in (None, 0.00123, 1234.5)] == ["", "0.0012", "1,234.50"]
