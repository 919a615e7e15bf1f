"""The files that a grid leaves besides its answers: `report.html` to read, and `results.json` for programs."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from glasshouse import formatting
from glasshouse.llms.answer_grid import AnswerGrid, GridAnswer
from glasshouse.llms.grid_results import GridResults, ModelScore
from glasshouse.llms.questions import PromptQuestion
from glasshouse.pages import grid_page
from glasshouse.records import atomic_files
from glasshouse.results.language_models import (
    READ,
    RIGHT,
    WRONG,
    GridContent,
    ShownAnswer,
    ShownColumn,
    ShownInterval,
    ShownModel,
    ShownQuestion,
)
from glasshouse.verdicts.proportions import Proportion

PAGE, RESULTS = "report.html", "results.json"
FINISHES = {"length": "cut off", "stop": "stopped"}


def write_report(grid: AnswerGrid, results: GridResults) -> Path:
    """Write both files; returns the page."""
    atomic_files.write_json(grid.folder / RESULTS, _without_nan(asdict(results)))
    page = grid.folder / PAGE
    atomic_files.write_text(page, grid_page.render(content_of(grid, results)))
    return page


def content_of(grid: AnswerGrid, results: GridResults) -> GridContent:
    """The content of the page."""
    options, missing = grid.options, len(grid.missing())
    counted = [
        formatting.count(len(grid.questions)) + (" question" if len(grid.questions) == 1 else " questions"),
        formatting.count(len(grid.models)) + (" model" if len(grid.models) == 1 else " models"),
        formatting.count(options.repeats) + (" repeat" if options.repeats == 1 else " repeats"),
    ]
    cached = "; the first answer stands for all repeats" if options.cached and options.repeats > 1 else ""
    subtitle = f"{', '.join(counted)}; temperature {options.temperature:g}, seed {options.seed}{cached}."
    notes = [f"{missing} of {len(grid.cells())} answers are missing; the same command continues."] if missing else []
    notes += [f"{model} stopped: {error}" for model, error in grid.failed.items()]
    if any(score.accuracy for score in results.scores):
        notes.append(
            "Intervals have 95 % coverage, for questions like these; few questions give wide ones. Two repeats agree if "
            "both pass the check, or if their texts are the same apart from case and spaces."
        )
    return GridContent(
        grid.title,
        subtitle,
        tuple(_model(grid, score) for score in results.scores),
        tuple(comparison.sentence for comparison in results.comparisons),
        tuple(notes),
        tuple(_question(grid, question) for question in grid.questions),
        f"glasshouse grid --models {','.join(model.name for model in grid.models)} --repeats {options.repeats}",
    )


def _model(grid: AnswerGrid, score: ModelScore) -> ShownModel:
    return ShownModel(
        score.model,
        grid.identities[score.model],
        _interval(score.accuracy),
        f"{score.passed} of {score.checked}" if score.checked else "",
        _interval(score.agreement),
        f"{score.tokens:,}",
        formatting.duration(score.seconds),
        cost_text(score.cost),
    )


def cost_text(cost: float | None) -> str:
    """A cost in the currency of the price list; empty if it is not known."""
    return "" if cost is None else f"{cost:.4f}" if cost < 1 else f"{cost:,.2f}"


def _interval(proportion: Proportion | None) -> ShownInterval | None:
    return None if proportion is None else ShownInterval(proportion.share, proportion.low, proportion.high)


def _question(grid: AnswerGrid, question: PromptQuestion) -> ShownQuestion:
    columns = []
    for model in grid.models:
        answers = [answer for answer in grid.answers if answer.question == question.name and answer.model == model.name]
        right = sum(bool(answer.passed) for answer in answers)
        summary = f"{right} of {len(answers)} right" if question.checks and answers else ""
        columns.append(ShownColumn(model.name, summary, tuple(map(_answer, answers))))
    checks = tuple(check.rule for check in question.checks)
    return ShownQuestion(question.name, question.prompt, question.system, checks, tuple(columns))


def _answer(answer: GridAnswer) -> ShownAnswer:
    mark = READ if answer.passed is None else RIGHT if answer.passed else WRONG
    tokens = f"{answer.tokens:,} {'token' if answer.tokens == 1 else 'tokens'}"
    facts = [f"repeat {answer.repeat + 1}", f"seed {answer.seed}", tokens, formatting.duration(answer.seconds)]
    if answer.cached:
        facts = [f"repeat {answer.repeat + 1}", "cached: the first answer again"]
    if answer.finish in FINISHES:
        facts.append(FINISHES[answer.finish])
    return ShownAnswer(answer.text, mark, answer.reason, " · ".join(facts))


def _without_nan(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
