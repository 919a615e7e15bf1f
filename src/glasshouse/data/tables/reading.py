"""Open any file that holds rows as a table. The ending of its name says what it is."""

from collections.abc import Callable, Iterator
from pathlib import Path

from glasshouse.data import text_files
from glasshouse.data.tables import arrow_rows, conll, delimited, json_rows
from glasshouse.data.tables.table import DataTable, Row, TableFormat
from glasshouse.specs.errors import DataError

READERS: dict[str, Callable[[Path, TableFormat], DataTable]] = {
    ".tsv": lambda path, form: delimited.read(path, form, tabs=True),
    ".csv": lambda path, form: delimited.read(path, form, tabs=False),
    ".jsonl": lambda path, form: json_rows.read_lines(path, form),
    ".ndjson": lambda path, form: json_rows.read_lines(path, form),
    ".json": lambda path, form: json_rows.read_array(path, form),
    ".parquet": lambda path, form: arrow_rows.read(path, form),
    ".arrow": lambda path, form: arrow_rows.read(path, form),
    ".feather": lambda path, form: arrow_rows.read(path, form),
}
SENTENCE_SUFFIXES = (".conll", ".conllu", ".iob", ".bio")


def is_table(path: Path) -> bool:
    """Whether the name of a file says that it holds rows."""
    return text_files.suffix(path) in READERS


def read(path: Path, form: TableFormat = TableFormat()) -> DataTable:  # noqa: B008 (it cannot be changed)
    """A file as a table."""
    if reader := READERS.get(text_files.suffix(path)):
        return reader(path, form)
    text_files.refuse_spreadsheet(path)
    raise DataError(
        f"{path} must be a table to be read as rows: {', '.join(READERS)} (and .gz or .zst of these); "
        "rename it or convert it"
    )


def read_sentences(path: Path, form: TableFormat, tag_column: str) -> DataTable:
    """A file of tagged sentences: in the manner of CoNLL, or a table with a column of words and one of tags."""
    suffix = text_files.suffix(path)
    if suffix in SENTENCE_SUFFIXES or (suffix in (".tsv", ".txt", "") and conll.has_sentences(path, form)):
        return conll.read(path, tag_column, form)
    return read(path, form)


def read_class_folder(folder: Path, classes: dict[str, list[Path]], form: TableFormat) -> DataTable:
    """Texts in folders that are named after their class, as a table of labels and texts."""

    def rows() -> Iterator[Row]:
        for label, paths in classes.items():
            for path in paths:
                yield label, read_whole(path, form).strip()

    return DataTable(folder, ("label", "text"), rows, roles=("label", "text"))


def read_whole(path: Path, form: TableFormat) -> str:
    """The text of a file that is one cell of a table. It may be as long as a line."""
    chunks: list[str] = []
    length = 0
    for chunk in text_files.read_chunks(path, form.encoding, form.limits):
        chunks.append(chunk)
        length += len(chunk)
        form.limits.check_line(length, str(path))
    return "".join(chunks)
