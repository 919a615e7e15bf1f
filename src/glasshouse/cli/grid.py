"""`glasshouse grid`: every model answers every question several times."""

from pathlib import Path
from typing import Annotated, Any

import glasshouse
from glasshouse import formatting
from glasshouse.cli.language_models import printable
from glasshouse.cli.options import Config, Device, MaxTokens, Temperature, TopP, argument, option
from glasshouse.cli.tables import console, show
from glasshouse.records import progress_bar

# Characters of an answer that are printed as it comes.
SHOWN = 60


def _say_answer(grid: Any, event: Any) -> None:
    """Print an answer of a grid on one line."""
    answer = event.answer
    if answer is None:
        return
    mark = "" if answer.passed is None else "right  " if answer.passed else "wrong  "
    facts = "cached" if answer.cached else f"{answer.tokens} tokens, {formatting.duration(answer.seconds)}"
    progress_bar.say(
        f"{len(grid.found)}/{grid.size}  {answer.model}  {answer.question}  repeat {answer.repeat + 1}  {mark}({facts})  "
        f"{' '.join(printable(answer.text).split())[:SHOWN]}"
    )


def print_results(outcome: Any) -> None:
    """Print the table of models, the comparisons and the files."""
    scores = outcome.results.scores
    with_cost = any(score.cost is not None for score in scores)
    columns = ["model", "right", "accuracy, %", "agreement, %", "tokens", "time"]
    rows = [
        [
            score.model,
            f"{score.passed} of {score.checked}" if score.checked else formatting.MISSING,
            _proportion(score.accuracy),
            _proportion(score.agreement),
            f"{score.tokens:,}",
            formatting.duration(score.seconds),
            *([formatting.MISSING if score.cost is None else f"{score.cost:.4f}"] if with_cost else []),
        ]
        for score in scores
    ]
    show([*columns, *(["cost"] if with_cost else [])], rows, right=(1, 4, 5, 6))
    console.print("In brackets: 95 % intervals, for questions like these.")
    for comparison in outcome.results.comparisons:
        console.print(comparison.sentence)
    console.print(f"\nanswers  {outcome.folder / 'answers.jsonl'}")
    console.print(f"page     {outcome.page}")


def _proportion(proportion: Any) -> str:
    if proportion is None:
        return formatting.MISSING
    return f"{100 * proportion.share:.0f} ({100 * proportion.low:.0f} to {100 * proportion.high:.0f})"


def grid(
    questions: Annotated[
        Path | None, argument("A TOML file; default: four questions that ship with the package.", "QUESTIONS")
    ] = None,
    models: Annotated[str, option("The models, as in `glasshouse ask`, separated by commas.", metavar="A,B,C")] = "",
    temperature: Temperature = 0.7,
    repeats: Annotated[int, option("How often each model answers each question.", low=1, high=10**5)] = 5,
    max_tokens: MaxTokens = 256,
    top_p: TopP = 1.0,
    seed: Annotated[int, option("The random seed, from which every answer gets a seed of its own.", high=2**63 - 1)] = 0,
    cached: Annotated[
        bool, option("Ask once, and use the first answer for all repeats, marked as cached.", "--cached")
    ] = False,
    output: Annotated[Path | None, option("The folder of the grid; default: grids/NAME-HASH.", metavar="FOLDER")] = None,
    config: Config = None,
    device: Device = "auto",
) -> None:
    """Ask several models the same questions, check the answers, and lay them side by side on a page.

    Answers are kept as they come; a killed grid continues with the same command.

    Examples:
        glasshouse grid --models demo-lm,gguf:model.gguf
        glasshouse grid questions.toml --models a,b,c --temperature 0.7 --repeats 5
        glasshouse grid questions.toml --models remote --cached --output grids/remote
    """
    from glasshouse.api import llms

    names = [name.strip() for name in models.split(",") if name.strip()]
    opened = llms.open_grid(questions, names, temperature, repeats, max_tokens, top_p, seed, cached, output, config, device)
    outcome = llms.run_grid(opened, lambda event: _say_answer(opened, event))
    print_results(outcome)
    if outcome.failed:
        model, error = next(iter(outcome.failed.items()))
        raise glasshouse.GlasshouseError(f"{model} did not answer everything: {error}; then continue with the same command")
