"""Tables on the terminal, all in the same style."""

import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from glasshouse.formatting import without_controls
from glasshouse.records.progress_bar import SafeConsole

console = SafeConsole(highlight=False, markup=False, emoji=False, soft_wrap=True)


def show(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table; the columns with the indices `right` are right-aligned. Cells are printed as plain text, not markup."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(Text(without_controls(column)), justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(without_controls(cell)) for cell in row))
    console.print(table, soft_wrap=False)


def shown(text: str, raw: bool = False) -> str:
    """A text for the output: signs stand for control characters. With `raw` they stay, where no terminal reads."""
    return text if raw and not sys.stdout.isatty() else without_controls(text)
