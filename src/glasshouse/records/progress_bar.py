"""Progress on the terminal: bars with the time left where a person watches, nothing where nobody does."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

console = Console(stderr=True)
# For what is shown while the work inside it is quiet.
_outer = Console(stderr=True)


def watched() -> bool:
    """Whether a person is looking at the error stream."""
    return console.is_terminal


def display(*columns: Any, transient: bool = False, outer: bool = False) -> Progress:
    """A live display with our columns, then a bar, the time spent and the time left."""
    tail = (BarColumn(bar_width=20), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(), TimeRemainingColumn())
    head = TextColumn("{task.description}")
    place = _outer if outer else console
    return Progress(head, *columns, *tail, console=place, transient=transient, disable=not watched())


@contextmanager
def bar(description: str, outer: bool = False) -> Iterator[Callable[..., None]]:
    """A bar that goes away when done; the block calls what it is given with the share done and, if it likes, of what.

    An outer one is seen while what it is about is `quiet`.
    """
    with display(transient=True, outer=outer) as live:
        task = live.add_task(description, total=1.0)

        def show(share: float, what: str = description) -> None:
            live.update(task, completed=min(share, 1.0), description=what)

        yield show


@contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """Show and say nothing for a while."""
    before = console.quiet
    console.quiet = wanted or before
    try:
        yield
    finally:
        console.quiet = before


def say(text: str, aloud: bool = False) -> None:
    """One line for the person at the terminal (or the job's log), kept out of a command's output. Aloud: also when quiet."""
    place = _outer if aloud else console
    place.print(text, highlight=False, markup=False, soft_wrap=True)
    sys.stderr.flush()
