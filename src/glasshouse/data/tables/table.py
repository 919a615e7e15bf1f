"""A table: named columns and rows of text cells, read from a file row by row. Knows no file format."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from glasshouse.data import read_limits
from glasshouse.data.read_limits import ReadLimits
from glasshouse.specs.errors import DataError, Remedy
from glasshouse.specs.spec import DataSpec

Row = tuple[str, ...]
# Rows and characters that are read to find out what the columns are.
SAMPLE_ROWS, SAMPLE_CHARACTERS = 2000, 1 << 25
# Between the items of a list in a cell. No text has this control character, which is made for this purpose.
ITEM_SEPARATOR = "\x1f"
MOST_LISTED = 5
"""Rows that an error lists."""


@dataclass(frozen=True)
class TableFormat:
    """How to read text: the delimiter, whether the first line is a header, the encoding, and how much at most.

    `auto` means by its content. A first line with one of the `names`, the columns that a spec asks for, is a header.
    """

    delimiter: str = "auto"
    header: str = "auto"
    names: tuple[str, ...] = ()
    encoding: str = ""
    limits: ReadLimits = read_limits.DEFAULT

    @classmethod
    def of(cls, data: DataSpec) -> "TableFormat":
        named = (data.field, data.label, data.target, data.second, data.group)
        names = tuple(name for name in named if name and not name.isdecimal())
        return cls(data.delimiter, data.header, names, data.encoding, ReadLimits.of(data.limits))


@dataclass(frozen=True)
class DataTable:
    """The columns of a file. `numbered_rows` reads the file anew; a number is that of a line if the table `has_lines`.

    The names are those of the file if it is `named`. Otherwise they are the numbers of the columns from 1. `remarks` say
    what was found out about the format by looking at the content. `roles` say what the columns are to a task, if the format
    itself says so.
    """

    path: Path
    names: tuple[str, ...]
    numbered_rows: Callable[[], Iterable[tuple[int, Row]]]
    named: bool = True
    remarks: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    has_lines: bool = False

    def rows(self) -> Iterator[Row]:
        return (row for _, row in self.numbered_rows())

    @cached_property
    def sample(self) -> list[Row]:
        return sample_of(self.rows())

    def column(self, index: int) -> list[str]:
        """The cells of a column in the first rows that are not empty."""
        return [row[index] for row in self.sample if row[index]]

    def wrong(self, rows: Sequence[int], problem: str, remedies: Sequence[Remedy | str]) -> DataError:
        """The error for some rows, which are counted from 0."""
        numbers = [number for number, _ in self.numbered_rows()]
        word = ("line" if self.has_lines else "row") + ("s" if len(rows) > 1 else "")
        listed = ", ".join(str(numbers[row]) for row in rows[:MOST_LISTED]) + ", ..." * (len(rows) > MOST_LISTED)
        return DataError(f"{self.path}, {word} {listed}: {problem}", remedies=remedies)

    def called(self, index: int) -> str:
        return f"the column {self.names[index]!r}" if self.named else f"column {index + 1}"

    def listing(self) -> str:
        return ", ".join(self.names) if self.named else f"{len(self.names)} without names, numbered from 1"


def sample_of(rows: Iterable[Row]) -> list[Row]:
    """The first rows, as many as are looked at to find out what the columns are."""
    taken, left = [], SAMPLE_CHARACTERS
    for row in islice(rows, SAMPLE_ROWS):
        taken.append(row)
        left -= sum(map(len, row)) + len(row)
        if left <= 0:
            break
    return taken


def wrong_line(path: Path, number: int, problem: str, remedies: Sequence[Remedy | str] = ()) -> DataError:
    return DataError(f"{path}, line {number}, {problem}", remedies=remedies)
