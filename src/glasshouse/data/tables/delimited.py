"""Delimited text as a table: the delimiter, the quoting and the header are found by looking at the first lines."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from glasshouse.data import text_files
from glasshouse.data.tables.table import DataTable, Row, TableFormat, sample_of, wrong_line
from glasshouse.specs.errors import DataError, Remedy

DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
DELIMITER_NAMES = {character: name for name, character in DELIMITERS.items()}
# Column names in files that people share. One of them in the first line makes it a header.
KNOWN_NAMES = """
    text texts sentence sentences content body document review comment message tweet utterance question
    answer title premise hypothesis sentence1 sentence2 text1 text2 label labels class classes category
    categories target targets sentiment rating stars score topic intent tag tags source translation src
    tgt input output english german french spanish en de fr es id
"""
_NAME = re.compile(r"[^\W\d][\w .:\-/()#]{0,39}")
# The name of a first column without one, which spreadsheets and pandas write for the numbers of the rows.
ROW_NUMBERS = "index"
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?%?")
_QUOTED = re.compile(r'"([^"]|"")*"')


def read(path: Path, form: TableFormat, tabs: bool) -> DataTable:
    """A file of delimited text as a table. `tabs` says that its name promises tabs."""
    lines = [line for (line,) in sample_of((line,) for line in text_files.read_lines(path, form.encoding, form.limits))]
    delimiter = DELIMITERS.get(form.delimiter) or ("\t" if tabs else _find_delimiter(lines))
    # Texts in tab-separated files often have quotation marks of their own: fields are quoted if none only begins with one.
    fields = [field for line in lines for field in line.rstrip("\r").split("\t") if field.startswith('"')]
    quoted = bool(fields) and all(_QUOTED.fullmatch(field) for field in fields)
    plain = delimiter == "\t" and form.delimiter == "auto" and not quoted
    parse = partial(_split_lines if plain else _parse_quoted, path, delimiter, form)
    first_rows = sample_of(row for _, row in parse())
    if not first_rows:
        raise DataError(f"{path} has no rows; choose a file that contains text")
    form.limits.check("columns", max(map(len, first_rows)), path)
    asked_for = not set(first_rows[0]).isdisjoint(form.names)
    header = asked_for or _has_header(first_rows, likely=not tabs) if form.header == "auto" else form.header == "yes"
    remarks = []
    if header and form.header == "auto" and tabs:
        remarks.append(f"the first line of {path.name} is taken for a header: {', '.join(first_rows[0])}")
    if not header and form.header == "auto" and not tabs:
        remarks.append(f"{path.name} is taken to have no header; if its first line is one, set data.header=yes")
    if not tabs and form.delimiter == "auto" and delimiter != ",":
        remarks.append(f"the columns of {path.name} are separated by {DELIMITER_NAMES[delimiter]}s")
    width = len(first_rows[0]) if header else Counter(map(len, first_rows)).most_common(1)[0][0]
    if width < 2 and tabs:
        raise wrong_line(path, 1, "has no tab; every line must have at least two columns")
    # An empty name is the number of its column; that of the first is for numbers of rows.
    names = tuple(map(str, range(1, width + 1)))
    if header:
        names = tuple(text or str(number) for number, text in enumerate(first_rows[0], 1))
        if not first_rows[0][0] and ROW_NUMBERS not in names:
            names = (ROW_NUMBERS, *names[1:])
    if header and len(first_rows) == 1:
        raise DataError(
            f"{path} has no rows: its only line is taken for a header ({', '.join(names)})",
            remedies=["add rows below it", Remedy("data.header", "no", "take the line for a row with")],
        )
    # The column with the longest cells holds the texts.
    lengths = [sum(map(len, cells)) for cells in zip(*(row for row in first_rows if len(row) == width), strict=True)]
    wide = lengths.index(max(lengths)) if plain else None

    def rows() -> Iterator[tuple[int, Row]]:
        for number, row in islice(parse(), int(header), None):
            yield number, _fitted(path, number, row, names, delimiter, wide)

    return DataTable(path, names, rows, named=header, remarks=tuple(remarks), has_lines=True)


def _find_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that gives the most lines the same number of columns, more than one of them."""

    def evenness(delimiter: str) -> tuple[float, int]:
        try:
            rows = [len(row) for row in csv.reader((line + "\n" for line in lines), delimiter=delimiter) if row]
        except csv.Error:
            return 0.0, 0
        width, count = Counter(rows).most_common(1)[0] if rows else (1, 0)
        return (count / len(rows) if width > 1 else 0.0), width

    return max(DELIMITERS.values(), key=lambda delimiter: (*evenness(delimiter), delimiter == ","))


def _split_lines(path: Path, delimiter: str, form: TableFormat) -> Iterator[tuple[int, Row]]:
    for number, line in enumerate(text_files.read_lines(path, form.encoding, form.limits), 1):
        if line.strip():
            yield number, tuple(text.strip() for text in line.rstrip("\r").split(delimiter))


def _parse_quoted(path: Path, delimiter: str, form: TableFormat) -> Iterator[tuple[int, Row]]:
    """(line number, cells) of every row. A quoted field may contain the delimiter and line breaks."""
    # A quoted field may contain line breaks, so the CSV reader needs the line endings.
    lines = (line + "\n" for line in text_files.read_lines(path, form.encoding, form.limits))
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for row in reader:
            if any(text.strip() for text in row):
                yield reader.line_num, tuple(text.strip() for text in row)
    except csv.Error as error:
        raise wrong_line(path, reader.line_num, f"is not a valid CSV row: {error}; correct it, or use JSON lines") from None


def _fitted(path: Path, line: int, row: Row, names: Sequence[str], delimiter: str, wide: int | None) -> Row:
    """The row with as many cells as the table has columns. Missing cells are empty.

    In unquoted text, delimiters beyond those between the columns belong to the column `wide`.
    """
    if len(row) == 1 and len(names) > 1 and wide is not None:
        raise wrong_line(path, line, f"has no tab; every line must have {len(names)} columns")
    if len(row) > len(names):
        if wide is not None:
            end = wide + 1 + len(row) - len(names)
            return (*row[:wide], delimiter.join(row[wide:end]).strip(), *row[end:])
        if any(row[len(names) :]):
            remedies = ("correct the line", "quote the field that contains the delimiter", Remedy("data.delimiter", "comma"))
            raise wrong_line(path, line, f"has {len(row)} columns and the table has {len(names)}", remedies)
        return row[: len(names)]
    return row + ("",) * (len(names) - len(row))


def _has_header(rows: Sequence[Row], likely: bool) -> bool:
    """Whether the first row names the columns.

    Its cells must look like names, differ from each other, and not occur again in their column. If a header is not `likely`,
    one of the names must be well known, or stand above numbers only. The first cell may be empty above numbers of rows.
    """
    first, rest = rows[0], rows[1:]
    columns = [[row[index] for row in rest if index < len(row) and row[index]] for index in range(len(first))]
    numbered_rows = not first[0] and len(first) > 1 and len(columns[0]) == len(rest) and all(map(str.isdecimal, columns[0]))
    if not all(_NAME.fullmatch(text) for text in first[numbered_rows:]) or len(set(first)) < len(first):
        return False
    if any(text in column for text, column in zip(first, columns, strict=True)):
        return False
    known = any(text.lower() in KNOWN_NAMES.split() for text in first)
    above_numbers = any(column and all(map(_NUMBER.fullmatch, column)) for column in columns)
    return likely or known or above_numbers
