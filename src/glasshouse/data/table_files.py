"""Rows of two texts, such as a label and a text or a text and its translation, from TSV, CSV or JSON lines; their splits.

Knows nothing of what the two mean.
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
    """A field by its name in CSV and JSON lines, the setting that names it, and what it is called on a TSV line."""

    name: str
    setting: str
    called: str


def read(path: Path, columns: tuple[Column, Column]) -> Iterator[tuple[str, str]]:
    """Both fields of every row, without space around them; a TSV line has them in the order given."""
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    if kind in (".jsonl", ".ndjson"):
        return _from_json(path, columns)
    if kind == ".csv":
        return _from_csv(path, columns)
    if kind == ".tsv":
        return _from_tsv(path, columns)
    order = ", tab, ".join(column.called for column in columns)
    raise DataError("not-a-table", f"{path}: rows are read from .tsv ({order}), .csv or .jsonl files; rename or convert it")


def homes(texts: Iterable[str], validation: float, test: float) -> dict[str, str]:
    """The split of each different text: shares of the texts in the order of a digest, so that equal ones stay together."""
    ordered = sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())
    held = [max(1, round(len(ordered) * share)) if share else 0 for share in (validation, test)]
    if sum(held) >= len(ordered):
        raise DataError(
            "too-few-to-hold-out",
            f"{len(ordered)} different texts are too few to hold some out; give more, or set data.validation=0 data.test=0",
        )
    train = len(ordered) - sum(held)
    borders = (train, train + held[0])
    return {text: SPLITS[(index >= borders[0]) + (index >= borders[1])] for index, text in enumerate(ordered)}


def _from_tsv(path: Path, columns: tuple[Column, Column]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text_files.lines(path), 1):
        first, tab, second = line.rstrip("\r").partition("\t")
        if line.strip() and not tab:
            order = ", tab, ".join(column.called for column in columns)
            raise DataError("no-tab", f"{path}, line {number}, has no tab; write {order} on each line")
        if tab:
            yield first.strip(), second.strip()


def _from_csv(path: Path, columns: tuple[Column, Column]) -> Iterator[tuple[str, str]]:
    # A field in quotes may hold line breaks, so the reader is given lines with their ends.
    reader = csv.DictReader(line + "\n" for line in text_files.lines(path))
    for column in reversed(columns):
        if column.name not in (reader.fieldnames or ()):
            known = ", ".join(reader.fieldnames or ())
            raise DataError(
                "missing-column", f"{path} has no column {column.name!r} (it has: {known}); name it: {column.setting}=NAME"
            )
    try:
        for row in reader:
            first, second = ((row[column.name] or "").strip() for column in columns)
            yield first, second
    except csv.Error as error:
        raise DataError(
            "bad-csv-row", f"{path}, line {reader.line_num}, is no CSV row: {error}; mend it, or give JSON lines"
        ) from None


def _from_json(path: Path, columns: tuple[Column, Column]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text_files.lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError("not-json", f"{path}, line {number}, is not JSON: {error}") from None
        for column in columns:
            if not isinstance(row, dict) or column.name not in row:
                known = ", ".join(row) if isinstance(row, dict) else type(row).__name__
                raise DataError(
                    "missing-column",
                    f"{path}, line {number}, has no field {column.name!r} (it has: {known}); name it: {column.setting}=NAME",
                )
        first, second = ("" if row[column.name] is None else str(row[column.name]).strip() for column in columns)
        yield first, second
