"""Open any file that holds rows as a table. The ending of its name says what it is."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

from glasshouse.data import text_files
from glasshouse.data.read_limits import LineTooLong
from glasshouse.data.tables import columns, delimited, object_rows
from glasshouse.data.tables.columns import ColumnRequest
from glasshouse.data.tables.table import ITEM_SEPARATOR, DataTable, Row, TableFormat, wrong_line
from glasshouse.specs.errors import DataError

READERS: dict[str, Callable[[Path, TableFormat], DataTable]] = {
    ".tsv": partial(delimited.read, tabs=True),
    ".csv": partial(delimited.read, tabs=False),
    ".jsonl": object_rows.read_json_lines,
    ".ndjson": object_rows.read_json_lines,
    ".json": object_rows.read_json,
    ".parquet": object_rows.read_arrow,
    ".arrow": object_rows.read_arrow,
    ".feather": object_rows.read_arrow,
}
SENTENCE_SUFFIXES = (".conll", ".conllu", ".iob", ".bio")
SENTENCES = ("text", "tags")
# In CoNLL-U the word is in the second column and its part of speech in the fourth.
UNIVERSAL = (1, 3)
UNIVERSAL_COLUMNS = 10

Pair = tuple[str, str]
"""A text, and the second text of a pair; the second is empty for single texts."""


def is_table(path: Path) -> bool:
    return text_files.suffix(path) in READERS


def read(path: Path, form: TableFormat = TableFormat()) -> DataTable:  # noqa: B008 (it cannot be changed)
    if reader := READERS.get(text_files.suffix(path)):
        return reader(path, form)
    text_files.refuse_spreadsheet(path)
    raise DataError(f"{path} is no table ({', '.join(READERS)}, or .gz or .zst of these); rename it or convert it")


def read_class_folder(folder: Path, classes: dict[str, list[Path]], form: TableFormat) -> DataTable:
    """Texts in folders that are named after their class, as a table of labels and texts."""

    def rows() -> Iterator[Row]:
        for label, paths in classes.items():
            for path in paths:
                yield label, read_cell(path, form)

    return DataTable(folder, ("label", "text"), lambda: enumerate(rows(), 1), roles=("label", "text"))


def read_cell(path: Path, form: TableFormat) -> str:
    """The text of a file that is one cell of a table. It may be as long as a line."""
    return text_files.read_whole(path, form.encoding, form.limits, "line").strip()


def read_conll(path: Path, form: TableFormat, tag_column: str) -> DataTable:
    """A word and its tag on each line, a blank line between sentences.

    `tag_column` is the number of the column with the tags; otherwise the last one is used.
    """

    def rows() -> Iterator[Row]:
        words: list[str] = []
        tags: list[str] = []
        for number, line in enumerate(chain(text_files.read_lines(path, form.encoding, form.limits), ("",)), 1):
            cells = _columns(line)
            if not line.strip() or cells[0] == "-DOCSTART-":
                if words:
                    yield ITEM_SEPARATOR.join(words), ITEM_SEPARATOR.join(tags)
                words, tags = [], []
                continue
            if line.startswith("#") and (len(cells) < 2 or line.startswith("# ")):
                continue
            word, tag = _word_and_tag(path, number, cells, tag_column)
            if word:
                words.append(word)
                tags.append(tag)

    return DataTable(path, SENTENCES, lambda: enumerate(rows(), 1), roles=SENTENCES)


def has_sentences(path: Path, form: TableFormat) -> bool:
    """Whether a file is like those of CoNLL: by its name, or by groups of lines of columns with blank lines between them."""
    if (suffix := text_files.suffix(path)) in SENTENCE_SUFFIXES:
        return True
    if suffix not in (".tsv", ".txt", ""):
        return False
    blank = 0
    try:
        for line in islice(text_files.read_lines(path, form.encoding, form.limits), 2000):
            blank += not line.strip()
            if line.strip() and len(_columns(line)) < 2:
                return False
    except LineTooLong:
        return False  # A plain text may be a single line of any length.
    return blank > 0


def _columns(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else line.split()


def _word_and_tag(path: Path, number: int, cells: list[str], tag_column: str) -> tuple[str, str]:
    """The word and the tag of a line. The word is empty for parts of a CoNLL-U token that is written as one word."""
    cells = [text.strip() for text in cells]
    word_index, tag_index = UNIVERSAL if len(cells) == UNIVERSAL_COLUMNS else (0, len(cells) - 1)
    if len(cells) == UNIVERSAL_COLUMNS and not cells[0].isdecimal():
        return "", ""
    if tag_column.isdecimal():
        tag_index = int(tag_column) - 1
    if len(cells) < 2 or not 0 <= tag_index < len(cells) or not cells[word_index] or not cells[tag_index]:
        rule = "write a word and a tag on each line, and a blank line between sentences"
        raise wrong_line(path, number, f"has no tag beside its word; {rule}")
    return "_".join(cells[word_index].split()), "_".join(cells[tag_index].split())


def read_texts(
    path: Path, field: ColumnRequest, second: ColumnRequest | None, form: TableFormat
) -> tuple[Callable[[], Iterator[Pair]], tuple[str, ...]]:
    """Texts without labels: the lines of a text file, or a column of a table.

    Gives a function that reads the file anew, and remarks on what was found by the look of it.
    With `second`, a row is a pair of texts, and the file must be a table.
    """
    if not is_table(path):
        rule = "use a table, such as a .csv file"
        if second is not None:
            raise DataError(f"{path} has one text a line, but the run reads pairs; {rule}")
        if field.is_named:
            raise DataError(f"{path} has one text a line and no column {field.name!r}; leave it out, or {rule}")
        return lambda: ((line.rstrip("\r"), "") for line in text_files.read_lines(path, form.encoding, form.limits)), ()
    requests = [field] if second is None else [field, second]
    names = tuple(request.name for request in requests if not request.name.isdecimal())
    table = read(path, replace(form, names=(*form.names, *names)))
    indices, remarks = columns.find(table, requests)

    def pairs() -> Iterator[Pair]:
        for row in table.rows():
            text, *others = (row[index].replace(ITEM_SEPARATOR, " ") for index in indices)
            yield text, others[0] if others else ""

    return pairs, (*table.remarks, *remarks)
