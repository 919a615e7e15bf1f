"""The page of a grid: a table of models, and for each question the answers of all models side by side. Works offline."""

import re

from glasshouse import formatting
from glasshouse.llms.answer_grid import AnswerGrid, GridAnswer
from glasshouse.llms.grid_results import GridResults
from glasshouse.llms.questions import PromptQuestion
from glasshouse.pages import template
from glasshouse.verdicts.mean_intervals import Proportion

# A block of code in Markdown; one that was cut off ends with the text.
FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[^\n]*\n?|\Z)", re.DOTALL | re.MULTILINE)
FINISHES = {"length": "cut off", "stop": "stopped"}


def render(grid: AnswerGrid, results: GridResults) -> str:
    return template.fill(
        "grid.html",
        grid=grid,
        results=results,
        subtitle=subtitle(grid),
        notes=notes(grid, results),
        answers=answers,
        summary=summary,
        facts=facts,
        parts=parts,
        share=share,
        spread=interval,
        cost_text=cost_text,
        duration=formatting.duration,
        with_cost=any(score.cost is not None for score in results.scores),
    )


def subtitle(grid: AnswerGrid) -> str:
    options = grid.options
    counts = {"question": len(grid.questions), "model": len(grid.models), "repeat": options.repeats}
    counted = [f"{formatting.count(count)} {name if count == 1 else name + 's'}" for name, count in counts.items()]
    return f"{', '.join(counted)}; temperature {options.temperature:g}, seed {options.seed}."


def notes(grid: AnswerGrid, results: GridResults) -> list[str]:
    missing = len(grid.missing())
    found = [f"{missing} of {len(grid.cells())} answers are missing; the same command continues."] if missing else []
    found += [f"{model} stopped: {error}" for model, error in grid.failed.items()]
    if any(score.accuracy for score in results.scores):
        found.append(
            "Intervals have 95 % coverage, for questions like these; few questions give wide ones. Two repeats agree if "
            "both pass the check, or if their texts are the same apart from case and spaces."
        )
    return found


def answers(grid: AnswerGrid, question: PromptQuestion, model: str) -> list[GridAnswer]:
    return [answer for answer in grid.answers if answer.question == question.name and answer.model == model]


def summary(question: PromptQuestion, found: list[GridAnswer]) -> str:
    """How many answers of a model are right: "4 of 5 right"; empty without a check."""
    right = sum(bool(answer.passed) for answer in found)
    return f"{right} of {len(found)} right" if question.checks and found else ""


def facts(answer: GridAnswer) -> str:
    """The number, the seed, the length and the time of an answer."""
    tokens = f"{answer.tokens:,} {'token' if answer.tokens == 1 else 'tokens'}"
    told = [f"repeat {answer.repeat + 1}", f"seed {answer.seed}", tokens, formatting.duration(answer.seconds)]
    if answer.finish in FINISHES:
        told.append(FINISHES[answer.finish])
    return " · ".join(told)


def parts(text: str) -> list[tuple[bool, str]]:
    """An answer in parts: whether a part is a block of code, and its text."""
    found, end = [], 0
    for block in FENCE.finditer(text):
        found += [(False, text[end : block.start()]), (True, block.group(1))]
        end = block.end()
    found.append((False, text[end:]))
    return [(code, part.strip("\n")) for code, part in found if part.strip()]


def share(shown: Proportion) -> str:
    """A share as text: "25 %"."""
    return f"{100 * shown.share:.0f} %"


def interval(shown: Proportion) -> str:
    """The interval of a share as text: "12 to 40 %"."""
    return f"{100 * shown.low:.0f} to {100 * shown.high:.0f} %"


def cost_text(cost: float | None) -> str:
    """A cost in the currency of the price list; a dash if it is not known."""
    return formatting.MISSING if cost is None else f"{cost:.4f}" if cost < 1 else f"{cost:,.2f}"
