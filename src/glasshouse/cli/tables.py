"""Tables on the terminal, all in the same style."""

import re
import sys
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from glasshouse.formatting import without_controls
from glasshouse.records.progress_bar import SafeConsole

console = SafeConsole(highlight=False, markup=False, emoji=False, soft_wrap=True)
# The columns that the box takes: at both edges, and between two columns.
EDGES, GAP = 2, 3
_BREAK = re.compile(r"(?<=[_/=])(?=\w)|(?<=[A-Za-z]{2}[-.,])(?=\w)")


def show(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table; the columns with the indices `right` are right-aligned. Cells are printed as plain text, not markup.

    A table that is wider than the terminal has its cells on several lines, broken between words as far as that is possible.
    """
    lines = [[without_controls(cell) for cell in row] for row in (columns, *rows)]
    space = console.width - EDGES - GAP * (len(columns) - 1)
    widths = column_widths([list(column) for column in zip_longest(*lines, fillvalue="")], space)
    title, *others = [[wrapped(cell, width) for cell, width in zip(row, widths, strict=False)] for row in lines]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, (column, width) in enumerate(zip(title, widths, strict=True)):
        table.add_column(Text(column), justify="right" if index in right else "left", overflow="fold", width=width)
    for row in others:
        table.add_row(*map(Text, row))
    console.print(table, soft_wrap=False)


def column_widths(columns: Sequence[Sequence[str]], space: int) -> list[int]:
    """The width of each column of cells, so that all fit into `space`: whole lines, else whole words, else parts."""
    lines, words, parts = (
        [max((cell_len(part) for cell in column for part in split(cell)), default=1) or 1 for column in columns]
        for split in (str.splitlines, str.split, _parts)
    )
    widths = [1] * len(columns)
    for wanted in (parts, words, lines):
        # The column that is nearest to what it needs is served first. For whole words it takes all that it needs, so that
        # few words are broken; else it leaves the others their share.
        for place, index in enumerate(sorted(range(len(columns)), key=lambda index: wanted[index] - widths[index])):
            left = max(space - sum(widths), 0)
            share = left if wanted is words else left // (len(columns) - place)
            widths[index] += min(max(wanted[index] - widths[index], 0), share)
    return widths


def wrapped(cell: str, width: int) -> str:
    """The cell in lines of this width. A word that is longer is broken after a sign within it, or else anywhere."""
    lines = []
    for text in cell.splitlines() or [""]:
        line = ""
        for word in text.split(" "):
            joined = f"{line} {word}" if line else word
            if cell_len(joined) <= width:
                line = joined
                continue
            lines += [line] if line else []
            line = ""
            for part in [word] if cell_len(word) <= width else _parts(word):
                if line and cell_len(line + part) > width:
                    lines.append(line)
                    line = ""
                line += part
        lines.append(line)
    return "\n".join(lines)


def _parts(cell: str) -> list[str]:
    """The parts that words are broken into: after signs of names, such as model.width=64, and not within numbers."""
    return [part for word in cell.split() for part in _BREAK.split(word)]


def shown(text: str, raw: bool = False) -> str:
    """A text for the output: signs stand for control characters. With `raw` they stay, where no terminal reads."""
    return text if raw and not sys.stdout.isatty() else without_controls(text)
