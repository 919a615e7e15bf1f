"""Progress bars and messages on the error stream. Bars appear only if the stream is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment

from glasshouse.formatting import without_controls


class SafeConsole(Console):
    """A console that shows control characters in texts and never obeys them: texts, labels and names may be anybody's."""

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(without_controls(segment.text), segment.style)


console = SafeConsole(stderr=True)
# A second console, which `quiet` does not silence.
_outer = SafeConsole(stderr=True)


def is_terminal() -> bool:
    return console.is_terminal


def display(*columns: Any, transient: bool = False, outer: bool = False) -> Progress:
    """A live display: the description, the columns, a bar, the elapsed time and the remaining time."""
    tail = (BarColumn(bar_width=20), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(), TimeRemainingColumn())
    head = TextColumn("{task.description}")
    target = _outer if outer else console
    return Progress(head, *columns, *tail, console=target, transient=transient, disable=not is_terminal())


@contextmanager
def bar(description: str, outer: bool = False) -> Iterator[Callable[..., None]]:
    """A bar that disappears at the end. Yields `show(share, description)`, which updates the bar; a share is 0 to 1.

    An `outer` bar stays visible inside `quiet`.
    """
    with display(transient=True, outer=outer) as live:
        task = live.add_task(description, total=1.0)

        def show(share: float, text: str = description) -> None:
            live.update(task, completed=min(share, 1.0), description=text)

        yield show


def part(progress: Callable[[float], None], number: int, count: int) -> Callable[[float], None]:
    """The progress of one of several equal parts; `number` counts from 0."""
    return lambda share: progress((number + share) / count)


@contextmanager
def quiet(enabled: bool = True) -> Iterator[None]:
    """Suppress bars and messages within the block."""
    before = console.quiet
    console.quiet = enabled or before
    try:
        yield
    finally:
        console.quiet = before


def say(text: str, even_if_quiet: bool = False) -> None:
    """Print one line to the error stream, so that it stays out of a command's output."""
    target = _outer if even_if_quiet else console
    target.print(text, highlight=False, markup=False, soft_wrap=True)
    sys.stderr.flush()
