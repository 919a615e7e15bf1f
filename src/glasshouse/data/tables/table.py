"""A table: named columns and rows of text cells, read from a file row by row. Knows no file format."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from glasshouse.data import read_limits
from glasshouse.data.read_limits import ReadLimits
from glasshouse.specs.errors import DataError, Remedy
from glasshouse.specs.spec import DataSpec

Row = tuple[str, ...]
# Rows and characters that are read to find out what the columns are.
SAMPLE_ROWS, SAMPLE_CHARACTERS = 2000, 1 << 25
# Between the items of a list in a cell. No text has this control character, which is made for this purpose.
ITEM_SEPARATOR = "\x1f"


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
    """The columns of a file. `rows` reads the file anew.

    The names are those of the file if it is `named`. Otherwise they are the numbers of the columns from 1. `remarks` say
    what was found out about the format by looking at the content. `roles` say what the columns are to a task, if the format
    itself says so. `line_numbers` are those of the rows, if the file has lines.
    """

    path: Path
    names: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]
    named: bool = True
    remarks: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    line_numbers: Callable[[], Iterator[int]] | None = None

    @cached_property
    def sample(self) -> list[Row]:
        """The first rows."""
        return sample_of(self.rows())

    def column(self, index: int) -> list[str]:
        """The cells of a column in the first rows that are not empty."""
        return [row[index] for row in self.sample if row[index]]

    def places(self, rows: Sequence[int], most: int = 5) -> str:
        """Where rows are in the file, as an error message names them. `rows` are counted from 0."""
        numbers = list(self.line_numbers()) if self.line_numbers else range(1, max(rows) + 2)
        word = ("line" if self.line_numbers else "row") + ("s" if len(rows) > 1 else "")
        return f"{word} {', '.join(str(numbers[row]) for row in rows[:most])}{', ...' if len(rows) > most else ''}"

    def called(self, index: int) -> str:
        """A column, as a sentence names it."""
        return f"the column {self.names[index]!r}" if self.named else f"column {index + 1}"

    def listing(self) -> str:
        """The columns, as an error message names them."""
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


def cell(value: Any) -> str:
    """A value of a JSON or Arrow file as text: nothing is an empty text, and a list is its items with a separator."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ITEM_SEPARATOR.join(cell(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value).strip()


def flattened(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object, with those of inner objects under dotted names. A list of objects is a list in each field.

    A name of the object itself goes before the same name of an inner field.
    """
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            inner = flattened(value)
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            items = [flattened(item) for item in value]
            inner = {key: [item.get(key) for item in items] for key in dict.fromkeys(key for item in items for key in item)}
        else:
            flat[name] = value
            continue
        for key, item in inner.items():
            flat.setdefault(f"{name}.{key}", item)
    return flat


def numbered(count: int) -> tuple[str, ...]:
    """The names of columns without names."""
    return tuple(map(str, range(1, count + 1)))


def uneven(path: Path, line: int, found: int, names: Sequence[str]) -> DataError:
    """The error for a row with another number of cells than the table has columns."""
    return DataError(
        f"{path}, line {line}, has {found} columns and the table has {len(names)}",
        remedies=["correct the line", "quote the field that contains the delimiter", Remedy("data.delimiter", "comma")],
    )
