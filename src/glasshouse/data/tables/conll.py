"""Files like those of CoNLL as a table of sentences: a word and its tag on each line, a blank line between sentences."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from glasshouse.data import text_files
from glasshouse.data.read_limits import LineTooLong
from glasshouse.data.tables.table import ITEM_SEPARATOR, DataTable, Row, TableFormat
from glasshouse.specs.errors import DataError

NAMES = ("text", "tags")
# In CoNLL-U the word is in the second column and its part of speech in the fourth.
UNIVERSAL = (1, 3)
UNIVERSAL_COLUMNS = 10


def read(path: Path, tag_column: str, form: TableFormat) -> DataTable:
    """The sentences of a file. `tag_column` is the number of the column with the tags; otherwise the last one is used."""

    def rows() -> Iterator[Row]:
        words: list[str] = []
        tags: list[str] = []
        for number, line in enumerate(chain(text_files.read_lines(path, form.encoding, form.limits), ("",)), 1):
            cells = line.split("\t") if "\t" in line else line.split()
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

    return DataTable(path, NAMES, rows, roles=NAMES)


def has_sentences(path: Path, form: TableFormat) -> bool:
    """Whether lines of two or more columns stand in groups with blank lines between them."""
    blank = 0
    try:
        for line in islice(text_files.read_lines(path, form.encoding, form.limits), 2000):
            blank += not line.strip()
            if line.strip() and len(line.split("\t") if "\t" in line else line.split()) < 2:
                return False
    except LineTooLong:
        return False  # A plain text may be a single line of any length.
    return blank > 0


def _word_and_tag(path: Path, number: int, cells: list[str], tag_column: str) -> tuple[str, str]:
    """The word and the tag of a line. The word is empty for parts of a CoNLL-U token that is written as one word."""
    cells = [text.strip() for text in cells]
    word_index, tag_index = UNIVERSAL if len(cells) == UNIVERSAL_COLUMNS else (0, len(cells) - 1)
    if len(cells) == UNIVERSAL_COLUMNS and not cells[0].isdecimal():
        return "", ""
    if tag_column.isdecimal():
        tag_index = int(tag_column) - 1
    if len(cells) < 2 or not 0 <= tag_index < len(cells) or not cells[word_index] or not cells[tag_index]:
        raise DataError(
            f"{path}, line {number}, has no tag beside its word; write a word and a tag on each line, and a blank line "
            "between sentences"
        )
    return "_".join(cells[word_index].split()), "_".join(cells[tag_index].split())
