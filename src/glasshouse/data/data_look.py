"""What the user's own files contain, before anything is trained: columns, classes, lengths, repeats, scripts, examples."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from glasshouse.data import input_files, text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.sources.data_set_list import Split
from glasshouse.data.tables import columns, number_columns, reading
from glasshouse.data.tables.class_labels import LABEL_SEPARATOR
from glasshouse.data.tables.columns import AmbiguousColumn, ColumnRequest
from glasshouse.data.tables.table import ITEM_SEPARATOR, SAMPLE_ROWS, DataTable, TableFormat
from glasshouse.data.user_files.pictures import PICTURES
from glasshouse.records import user_paths
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

EXAMPLES = 5


@dataclass(frozen=True)
class ColumnLook:
    """A column in the first rows of a table. `kind` is text, category, number, list, picture or row number.

    `empty` counts cells without a value. In a column of numbers, n/a and the like are such cells too. `sampled` says that
    the table has more rows, which are not counted.
    """

    name: str
    kind: str
    values: int
    empty: int
    example: str
    sampled: bool = False


@dataclass(frozen=True)
class DataLook:
    """What was understood of files.

    `classes` are the rows of each class, the most frequent first. `words` are quantiles of the length of a text in words.
    `repeated` rows have the text of an earlier row. `scripts` are the shares of the letters. `examples` are (field, text).
    """

    files: tuple[str, ...]
    columns: tuple[ColumnLook, ...] = ()
    splits: tuple[Split, ...] = ()
    classes: tuple[tuple[str, int], ...] = ()
    words: dict[float, float] = field(default_factory=dict)
    repeated: int = 0
    scripts: tuple[tuple[str, float], ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def suggest_task(data: DataSpec) -> str:
    """The task that files are probably for: next-token, classify, multi-label, regress, tag, translate or match."""
    first = user_paths.expand(data.files[0])
    if first.is_dir():
        if input_files.data_files(first, PICTURES):
            return "match"
        if input_files.class_folders(first):
            return "classify"
    path = input_files.expand(input_files.of(data).train)[0]
    form = TableFormat.of(data)
    if text_files.suffix(path) and reading.has_sentences(path, form):
        return "tag"
    return _task_of_table(reading.read(path, form), data) if reading.is_table(path) else "next-token"


def _task_of_table(table: DataTable, data: DataSpec) -> str:
    # One column names pictures and another has their captions. Further texts are for other tasks.
    kinds = [[columns.fits(table, index, kind) for index in range(len(table.names))] for kind in ("picture", "text")]
    if all(sum(of_kind) == 1 for of_kind in kinds):
        return "match"
    # A list has few values too, and a number of stars is a class as well as a number.
    for task, role in (("tag", "tags"), ("multi-label", "labels"), ("classify", "label")):
        if _has(table, data, role) and (task != "tag" or _is_tagged(table)):
            return task
    if _has(table, data, "value"):
        return "regress"
    try:
        indices, _ = columns.find(table, _requests(data, "label"))
        cells = table.column(indices[0])
        # The classifier refuses a single class in plain words.
        if len(cells) > 1 and len(set(cells)) == 1:
            return "classify"
    except AmbiguousColumn:
        # The classifier says which columns could be the label, and how to choose.
        if table.named and data.target not in table.names:
            return "classify"
    except DataError:
        pass
    return "translate" if _has(table, data, "target") else "next-token"


def _requests(data: DataSpec, role: str) -> list[ColumnRequest]:
    """The column of a role, which the user need not have named, and that of the text."""
    wanted = columns.request(data, role)
    return [wanted if role == "target" else replace(wanted, is_named=False), columns.request(data, "text")]


def _has(table: DataTable, data: DataSpec, role: str) -> bool:
    """Whether a table has a column of a role beside the text."""
    wanted, text = _requests(data, role)
    try:
        # In the order in which a file without a header has them.
        indices, _ = columns.find(table, [text, wanted] if role == "target" else [wanted, text])
    except DataError:
        return False
    return columns.fits(table, indices[role == "target"], wanted.kind)


def _is_tagged(table: DataTable) -> bool:
    """Whether two columns have lists of the same length in every row."""
    for row in islice(table.sample, 50):
        lengths = [text.count(ITEM_SEPARATOR) for text in row if ITEM_SEPARATOR in text]
        if len(lengths) < 2 or lengths[0] not in lengths[1:]:
            return False
    return True


def look(data: DataSpec, source: Source, wanted: tuple[str, ...]) -> DataLook:
    """Read the files of a data spec through its source."""
    documents = {split: list(source.documents(split)) for split in SPLITS} if wanted else {}
    rows = [document for of_split in documents.values() for document in of_split]
    texts = [document.text for document in rows] if wanted else _excerpts(source)
    lengths = [len(text.split()) for text in texts] if wanted else []
    counts = {
        split: sum(not document.continues for document in documents.get(split) or source.documents(split))
        for split in SPLITS
    }
    return replace(
        look_at_columns(data),
        splits=tuple(Split(split, count, source.bytes(split)) for split, count in counts.items()),
        classes=_classes(rows, wanted),
        words={share: float(np.quantile(lengths, share)) for share in (0.5, 0.95, 1.0)} if lengths else {},
        repeated=len(texts) - len(set(texts)) if wanted else 0,
        scripts=scripts(texts),
        examples=tuple(_examples(rows, wanted)) if wanted else tuple(("text", text) for text in texts[:EXAMPLES]),
        notes=tuple(source.notes()),
    )


def look_at_columns(data: DataSpec) -> DataLook:
    """What can be seen of files whose rows are refused: their columns, if they are tables."""
    names, looks = input_files.of(data).paths(), list[ColumnLook]()
    if not reading.is_table(names[0]):
        return DataLook(tuple(map(str, names)))
    table = reading.read(names[0], TableFormat.of(data))
    sampled = len(list(islice(table.rows(), SAMPLE_ROWS + 1))) > SAMPLE_ROWS
    for index, name in enumerate(table.names):
        cells = table.column(index)
        kinds = [kind for kind in ("list", "number", "category") if columns.fits(table, index, kind)]
        others = (kind for kind in ("picture", "row number") if columns.fits(table, index, kind))
        kind = " or ".join(kinds) or next(others, "text")
        example = cells[0].replace(ITEM_SEPARATOR, "|") if cells else ""
        empty = len(table.sample) - len(cells)
        if "number" in kinds:
            empty += sum(map(number_columns.is_missing, cells))
        looks.append(ColumnLook(name, kind, len(set(cells)), empty, _short(example), sampled))
    return DataLook(tuple(map(str, names)), tuple(looks))


def _classes(rows: Sequence[Document], wanted: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    counts: Counter[str] = Counter()
    for document in rows:
        if "label" in wanted:
            counts[document.fields["label"]] += 1
        elif "labels" in wanted:
            counts.update(label for label in document.fields["labels"].split(LABEL_SEPARATOR) if label)
        elif "tags" in wanted:
            counts.update(document.fields["tags"].split())
    return tuple(counts.most_common())


def _examples(rows: Sequence[Document], wanted: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    """Rows from the whole of the data, each with what the task is to find."""
    for document in rows[:: max(len(rows) // EXAMPLES, 1)][:EXAMPLES]:
        fields = [document.fields[name] for name in wanted if name in document.fields]
        yield " · ".join(_short(text, 40) for text in fields), _short(document.text)


def _excerpts(source: Source) -> list[str]:
    texts = (document.text[:20_000].split("\n") for document in islice(source.documents("train"), 200))
    return [_short(line) for lines in texts for line in list(filter(str.strip, lines))[:50]]


def _short(text: str, length: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 3] + "..."


def scripts(texts: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """The scripts of the letters of texts and their shares, the most frequent first."""
    counts: Counter[str] = Counter()
    left = 200_000  # characters that are looked at
    for text in texts:
        counts.update(character for character in text[:left] if character.isalpha())
        left -= len(text)
        if left <= 0:
            break
    total = sum(counts.values())
    shares: Counter[str] = Counter()
    for character, count in counts.items():
        shares[unicodedata.name(character, "OTHER").split()[0].capitalize()] += count
    return tuple((script, count / total) for script, count in shares.most_common())
