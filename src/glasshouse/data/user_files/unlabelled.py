"""Texts of the user's file without labels, one after another: the lines of a text file, or a column of a table."""

from collections.abc import Callable, Iterator
from pathlib import Path

from glasshouse.data import read_limits, text_files
from glasshouse.data.read_limits import ReadLimits
from glasshouse.data.tables import columns, reading
from glasshouse.data.tables.columns import ColumnRequest
from glasshouse.data.tables.table import ITEM_SEPARATOR, TableFormat
from glasshouse.specs.errors import DataError

Pair = tuple[str, str]
"""A text, and the second text of a pair; the second is empty for single texts."""


def read(
    path: Path,
    field: ColumnRequest,
    second: ColumnRequest | None,
    encoding: str = "",
    limits: ReadLimits = read_limits.DEFAULT,
) -> tuple[Callable[[], Iterator[Pair]], tuple[str, ...]]:
    """A function that reads the file anew, row by row, and remarks on what was found by the look of it.

    With `second`, a row is a pair of texts, and the file must be a table.
    """
    if not reading.is_table(path):
        if second is not None:
            raise DataError(
                f"{path} has one text a line, but the run reads pairs; use a table with two columns, such as a .csv file"
            )
        if field.is_named:
            raise DataError(
                f"{path} has one text a line and no column {field.name!r}; leave it out, or use a table, such as a .csv file"
            )
        return lambda: ((line.rstrip("\r"), "") for line in text_files.read_lines(path, encoding, limits)), ()
    requests = [field] if second is None else [field, second]
    names = tuple(request.name for request in requests if not request.name.isdecimal())
    table = reading.read(path, TableFormat(names=names, encoding=encoding, limits=limits))
    found = columns.find(table, requests)

    def pairs() -> Iterator[Pair]:
        for row in table.rows():
            text, *others = (row[index].replace(ITEM_SEPARATOR, " ") for index in found.indices)
            yield text, others[0] if others else ""

    return pairs, (*table.remarks, *found.remarks)
