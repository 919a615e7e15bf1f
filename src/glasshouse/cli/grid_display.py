"""A grid on the terminal: a live table of questions and models while it is asked, plain lines where there is no terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from glasshouse import formatting
from glasshouse.cli.answer_output import printable
from glasshouse.cli.tables import console as output
from glasshouse.cli.tables import show as show_table
from glasshouse.records import progress_bar

TAIL = 60
REFRESHES_PER_SECOND = 8


@contextmanager
def display(grid: Any) -> Iterator[Callable[[Any], None]]:
    """A function that shows what happens in a grid."""
    if not progress_bar.is_terminal():
        yield lambda event: _say_answer(grid, event)
        return
    table = LiveTable(grid)
    # The table draws itself anew several times a second, so a piece of text costs no drawing.
    with Live(table, console=progress_bar.console, refresh_per_second=REFRESHES_PER_SECOND, transient=True):
        yield table.show


def _say_answer(grid: Any, event: Any) -> None:
    answer = event.answer
    if answer is None:
        return
    done, total = len(grid.found), grid.size
    facts = "cached" if answer.cached else f"{answer.tokens} tokens, {formatting.duration(answer.seconds)}"
    progress_bar.say(
        f"{done}/{total}  {answer.model}  {answer.question}  repeat {answer.repeat + 1}  {_mark(answer.passed)}({facts})  "
        f"{_one_line(answer.text)[:TAIL]}"
    )


def _mark(passed: bool | None) -> str:
    return "" if passed is None else "right  " if passed else "wrong  "


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())


class LiveTable:
    """Questions down, models across. A cell has what is right so far, and the end of the text that comes."""

    def __init__(self, grid: Any) -> None:
        self.grid = grid
        self.started, self.already = time.monotonic(), len(grid.answers)
        self.text: dict[tuple[str, str], str] = {}
        self.answers: dict[tuple[str, str], list[Any]] = {}
        for answer in grid.answers:
            self.answers.setdefault((answer.question, answer.model), []).append(answer)

    def show(self, event: Any) -> None:
        """Take note of an event."""
        cell = (event.question, event.model)
        if event.answer is not None:
            self.answers.setdefault(cell, []).append(event.answer)
        else:
            self.text[cell] = (self.text.get(cell, "") + event.piece)[-4 * TAIL :] if event.piece else ""

    def __rich__(self) -> Group:
        models = [model.name for model in self.grid.models]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
        table.add_column("question", overflow="fold", ratio=2)
        for model in models:
            table.add_column(Text(model), overflow="fold", ratio=5)
        for question in self.grid.questions:
            table.add_row(Text(question.name), *(self._cell(question.name, model) for model in models))
        return Group(table, self._progress())

    def _cell(self, question: str, model: str) -> Text:
        answers, repeats = self.answers.get((question, model), []), self.grid.options.repeats
        text = Text(f"{len(answers)}/{repeats}", style="bold" if len(answers) == repeats else "")
        checked = [answer for answer in answers if answer.passed is not None]
        if checked:
            right = sum(answer.passed for answer in checked)
            text.append(f"  {right} right", style="green" if right else "red")
        tail = _one_line(self.text.get((question, model), ""))[-TAIL:]
        return text.append(f"\n{tail}", style="dim") if tail else text

    def _progress(self) -> Text:
        done, total = sum(map(len, self.answers.values())), self.grid.size
        elapsed, fresh = time.monotonic() - self.started, done - self.already
        left = f", about {formatting.duration(elapsed / fresh * (total - done))} left" if fresh else ""
        return Text(f"{done} of {total} answers, {formatting.duration(round(elapsed))}{left}", style="dim")


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
    show_table([*columns, *(["cost"] if with_cost else [])], rows, right=(1, 4, 5, 6))
    output.print("In brackets: 95 % intervals, for questions like these.")
    for comparison in outcome.results.comparisons:
        output.print(comparison.sentence, markup=False)
    output.print(f"\nanswers  {outcome.folder / 'answers.jsonl'}", markup=False, soft_wrap=True)
    output.print(f"page     {outcome.page}", markup=False, soft_wrap=True)


def _proportion(proportion: Any) -> str:
    if proportion is None:
        return formatting.MISSING
    return f"{100 * proportion.share:.0f} ({100 * proportion.low:.0f} to {100 * proportion.high:.0f})"
