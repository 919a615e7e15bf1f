"""JSON as a table: an object on each line, or one array of objects. The fields of inner objects have dotted names."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from glasshouse.data import text_files
from glasshouse.data.read_limits import BYTES_PER_JSON_CHARACTER, ReadLimits
from glasshouse.data.tables.table import SAMPLE_ROWS, DataTable, Row, TableFormat, cell, flattened
from glasshouse.formatting import with_article
from glasshouse.specs.errors import DataError


def read_lines(path: Path, form: TableFormat) -> DataTable:
    """JSON lines: the columns are the fields of the first objects."""
    return _table(path, form, lambda: _line_objects(path, form), has_lines=True)


def read_array(path: Path, form: TableFormat) -> DataTable:
    """A JSON array of objects, or an object with one such array in a field. A file of JSON lines is read as that."""
    chunks: list[str] = []
    size = 0
    for chunk in text_files.read_chunks(path, form.encoding, form.limits):
        chunks.append(chunk)
        size += len(chunk) * BYTES_PER_JSON_CHARACTER
        form.limits.check_table(size, path)
    try:
        content = parse("".join(chunks), str(path), form.limits)
    except ValueError as error:
        if "Extra data" in str(error):
            return read_lines(path, form)
        raise DataError(f"{path} is not valid JSON: {error}; correct the file") from None
    if isinstance(content, dict):
        arrays = [value for value in content.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        content = arrays[0] if len(arrays) == 1 else [content]
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise DataError(f"{path} must be a JSON array of objects, one for each row; convert it to that")
    return _table(path, form, lambda: enumerate(content, 1))


def parse(text: str, place: str, limits: ReadLimits) -> Any:
    """The value of a JSON text. Raises ValueError if it is none, and DataError if it is nested too deeply."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise limits.too_deep(place) from None
    limits.check_nesting(value, text, place)
    return value


def _table(
    path: Path,
    form: TableFormat,
    objects: Callable[[], Iterable[tuple[int, Mapping[str, Any]]]],
    has_lines: bool = False,
) -> DataTable:
    """The table of the objects of a file, each with its number."""
    fields: dict[str, None] = {}
    filled: set[str] = set()
    for _, row in islice(objects(), SAMPLE_ROWS):
        flat = flattened(row)
        fields |= dict.fromkeys(flat)
        form.limits.check_columns(len(fields), path)
        filled.update(name for name, value in flat.items() if value not in (None, []))
    # Where an object or a list of objects may be missing, its own name stands for nothing.
    outer = {name.rpartition(".")[0] for name in fields}
    names = tuple(name for name in fields if name in filled or name not in outer)

    def rows() -> Iterator[Row]:
        for _, row in objects():
            flat = flattened(row)
            yield tuple(cell(flat.get(name)) for name in names)

    return DataTable(path, names, rows, line_numbers=(lambda: (number for number, _ in objects())) if has_lines else None)


def _line_objects(path: Path, form: TableFormat) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(line number, object) of every line that is not blank."""
    for number, line in enumerate(text_files.read_lines(path, form.encoding, form.limits), 1):
        if not line.strip():
            continue
        place = f"{path}, line {number},"
        try:
            row = parse(line, place, form.limits)
        except ValueError as error:
            raise DataError(f"{place} is not valid JSON: {error}; correct the line") from None
        if not isinstance(row, dict):
            raise DataError(
                f"{place} is {with_article(type(row).__name__)} and has no fields; write an object on each line: "
                '{"text": ..., "label": ...}'
            )
        yield number, row
