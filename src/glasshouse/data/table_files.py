"""Rows of two text columns from TSV, CSV or JSON-lines files, and the assignment of texts to splits.

The columns may be a label and a text, a text and its translation, and so on. This module does not know what they mean.
"""

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS
from glasshouse.specs.errors import DataError


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `name` is its field name in CSV and JSON-lines files, `setting` the option that changes this name, and `role` describes
    the column in error messages about TSV files, which have no field names.
    """

    name: str
    setting: str
    role: str


def read_rows(path: Path, columns: tuple[Column, Column]) -> Iterator[tuple[str, str]]:
    """Both columns of every row, stripped of surrounding whitespace. A TSV line holds them in the order of `columns`."""
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in (".jsonl", ".ndjson"):
        return _read_json_lines(path, columns)
    if suffix == ".csv":
        return _read_csv(path, columns)
    if suffix == ".tsv":
        return _read_tsv(path, columns)
    order = ", tab, ".join(column.role for column in columns)
    raise DataError(
        "not-a-table",
        f"{path} must be a .tsv ({order}), .csv or .jsonl file to be read as rows; rename it or convert it",
    )


def assign_splits(texts: Iterable[str], validation: float, test: float) -> dict[str, str]:
    """The split of each distinct text.

    The texts are ordered by a digest and divided by the given shares. Equal texts are therefore always in the same split.
    """
    ordered = sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())
    held_out = [max(1, round(len(ordered) * share)) if share else 0 for share in (validation, test)]
    if sum(held_out) >= len(ordered):
        raise DataError(
            "too-few-to-hold-out",
            f"{len(ordered)} distinct texts are too few to hold some out; "
            "add more texts, or set data.validation=0 data.test=0",
        )
    train = len(ordered) - sum(held_out)
    boundaries = (train, train + held_out[0])
    return {text: SPLITS[(index >= boundaries[0]) + (index >= boundaries[1])] for index, text in enumerate(ordered)}


def _read_tsv(path: Path, columns: tuple[Column, Column]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text_files.read_lines(path), 1):
        first, tab, second = line.rstrip("\r").partition("\t")
        if line.strip() and not tab:
            order = ", tab, ".join(column.role for column in columns)
            raise DataError("no-tab", f"{path}, line {number}, has no tab; every line must be: {order}")
        if tab:
            yield first.strip(), second.strip()


def _read_csv(path: Path, columns: tuple[Column, Column]) -> Iterator[tuple[str, str]]:
    # A quoted field may contain line breaks, so the CSV reader needs the line endings.
    reader = csv.DictReader(line + "\n" for line in text_files.read_lines(path))
    for column in reversed(columns):
        if column.name not in (reader.fieldnames or ()):
            known = ", ".join(reader.fieldnames or ())
            raise DataError(
                "missing-column",
                f"{path} has no column {column.name!r} (its columns: {known}); set the column name: {column.setting}=NAME",
            )
    try:
        for row in reader:
            first, second = ((row[column.name] or "").strip() for column in columns)
            yield first, second
    except csv.Error as error:
        raise DataError(
            "bad-csv-row",
            f"{path}, line {reader.line_num}, is not a valid CSV row: {error}; correct it, or use JSON lines",
        ) from None


def _read_json_lines(path: Path, columns: tuple[Column, Column]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text_files.read_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError("not-json", f"{path}, line {number}, is not valid JSON: {error}; correct the line") from None
        for column in columns:
            if not isinstance(row, dict) or column.name not in row:
                known = ", ".join(row) if isinstance(row, dict) else type(row).__name__
                raise DataError(
                    "missing-column",
                    f"{path}, line {number}, has no field {column.name!r} (it has: {known}); "
                    f"set the field name: {column.setting}=NAME",
                )
        first, second = ("" if row[column.name] is None else str(row[column.name]).strip() for column in columns)
        yield first, second
