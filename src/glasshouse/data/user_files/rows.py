"""The user's own rows as a source: labelled texts, numbers, tags, pairs and translations from any table.

A document is a row. Splits are assigned by a digest of the text, so a text that occurs twice is never in two splits. Files
that are named for a split belong to it as a whole.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from glasshouse.data import input_files, splits, text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.tables import class_labels, columns, number_columns, reading
from glasshouse.data.tables.table import ITEM_SEPARATOR, DataTable, TableFormat
from glasshouse.records import user_paths
from glasshouse.specs.errors import DataError, Remedy
from glasshouse.specs.spec import DataSpec

# A target with at most so many values in at least so many rows looks like a class.
FEW_TARGETS, MANY_ROWS = 20, 200
# Rows between two updates of a progress bar.
SHOWN_EVERY = 1000
# Fewer rows for training are warned of.
FEW_ROWS = 10


class UserRows(Source):
    """Documents from the rows of the user's tables. `wanted` are the columns that the task needs besides the text."""

    columns: ClassVar[tuple[str, ...]] = ("label", "labels", "value", "tags", "second", "target")
    text_role: ClassVar[str] = "text"

    def __init__(self, data: DataSpec, wanted: tuple[str, ...]) -> None:
        self.data = data
        self.wanted = (*wanted, "second") if data.second and "second" not in wanted else wanted
        # What a complete row has. Texts without any of several labels are complete.
        self.required = (self.text_role, *(role for role in self.wanted if role != "labels"))
        self.names = input_files.of(data)
        self.form = TableFormat.of(data)

    def documents(self, split: str) -> Iterator[Document]:
        return (document for row_split, document in self._rows if row_split == split)

    def fingerprint(self) -> str:
        data = self.data
        digests = [_digest(path, self.form) for path in self._paths]
        settings: list[Any] = [data.label if "target" not in self.wanted else data.target, data.validation, data.test]
        names = ("second", "header", "delimiter", "group", "stratify", "insist", "decimal", "missing_targets")
        more = {name: value for name in names if (value := getattr(data, name)) not in ("", "auto", "refuse", False)}
        if self.names.validation or self.names.test:
            more["splits"] = {split: len(input_files.expand(of_split)) for split, of_split in self.names.by_split()}
        return json.dumps([digests, data.field, *settings, *([more] if more else [])])

    def notes(self) -> list[str]:
        """Remarks on the format, on skipped rows, on repeated texts and on the classes."""
        self._rows  # noqa: B018 (reading the rows collects the remarks)
        return self._remarks

    @cached_property
    def _paths(self) -> list[Path]:
        return self.names.paths()

    @property
    def _place(self) -> str:
        return ", ".join(map(str, self._paths))

    @cached_property
    def _rows(self) -> list[tuple[str, Document]]:
        """(split, document) of every row that is complete."""
        self._remarks: list[str] = list(self.names.remarks)
        self._first_label = ""
        self._classes: set[str] = set()
        rows = {split: self._read(names) for split, names in self.names.by_split()}
        complete = {
            split: [row for row in of_split if row.text and all(row.fields[role] for role in self.required[1:])]
            for split, of_split in rows.items()
        }
        if not complete["train"]:
            needs = " and ".join(f"a {role}" for role in self.required)
            raise DataError(f"{self._place}: no row has {needs}; check the file and its columns")
        count, total = (sum(map(len, of_all.values())) for of_all in (complete, rows))
        if count < total:
            self._remarks.append(f"{total - count} of {total} rows have no {' or no '.join(self.required)} and are skipped")
        if "label" in self.wanted and not self.data.insist:
            complete = self._with_checked_labels(complete)
        if "target" in self.wanted:
            self._check_targets([row for of_split in complete.values() for row in of_split])
        train = complete["train"]
        self._remark_on_texts(train)
        documents = list(zip(self._assign(train), train, strict=True))
        documents += [(split, row) for split in SPLITS[1:] for row in complete.get(split, ())]
        self._remark_on_few(documents)
        return documents

    def _read(self, names: Sequence[str]) -> list[Document]:
        rows: list[Document] = []
        for table in self._tables(names):
            # In the order in which a file without a header has its columns.
            labels = [role for role in self.wanted if role in ("label", "labels", "value", "tags", "picture")]
            texts = [role for role in ("second", "target") if role in self.wanted]
            roles = [*labels, self.text_role, *texts, *(["group"] if self.data.group else [])]
            indices, remarks = columns.find(table, [columns.request(self.data, role) for role in roles])
            self._remarks += [remark for remark in (*table.remarks, *remarks) if remark not in self._remarks]
            index_of = dict(zip(roles, indices, strict=True))
            of_table = self._kept(table, index_of)
            if "value" in index_of:
                of_table = self._with_numbers(table, index_of["value"], of_table)
            if "label" in index_of and self.data.missing_targets == "skip":
                # Such rows are skipped with those that have no label.
                missing = number_columns.is_missing
                of_table = [_with(row, "label", "") if missing(row.fields["label"]) else row for row in of_table]
            rows += of_table
            if not table.named and "label" in index_of and rows:
                self._first_label = table.sample[0][index_of["label"]]
        return rows

    def _kept(self, table: DataTable, index_of: dict[str, int]) -> list[Document]:
        """Every row as a document, within the limits on memory and on classes."""
        rows: list[Document] = []
        size = max(table.path.stat().st_size, 1) if table.path.is_file() else 1
        characters = 0
        for cells in self.form.limits.kept(table.rows(), table.path):
            characters += sum(map(len, cells)) + len(cells)
            if len(rows) % SHOWN_EVERY == SHOWN_EVERY - 1:
                self.progress("reading rows", characters / size)
            fields = {role: _converted(cells[index], role) for role, index in index_of.items()}
            row = Document(fields.pop(self.text_role), fields=fields)
            for role, separator in (("label", None), ("labels", class_labels.LABEL_SEPARATOR), ("tags", " ")):
                if role in fields:
                    self._classes.update(fields[role].split(separator) if separator else [fields[role]])
                    self.form.limits.check("classes", len(self._classes), table.path)
            rows.append(row)
        return rows

    def _with_numbers(self, table: DataTable, index: int, rows: Sequence[Document]) -> list[Document]:
        """The rows with plain numbers. Refuses numbers that could mean several things, and placeholders for numbers."""
        cells = [row.fields["value"] for row in rows]
        column = number_columns.read(cells, self.data.decimal)
        name = table.called(index)
        if column.wrong:
            problem = f"{cells[column.wrong[0]][:40]!r} in {name} is not a number"
            raise table.wrong(column.wrong, problem, ["correct it", Remedy("data.label", "NAME")])
        if column.missing and self.data.missing_targets == "refuse":
            problem = (
                f"{len(column.missing)} of {len(rows)} rows have no number in {name}, such as {cells[column.missing[0]]!r}"
            )
            skip = Remedy("data.missing_targets", "skip", "leave these rows out with")
            raise table.wrong(column.missing, problem, ["fill them in", skip])
        if not column.decimal:
            example = next(text for text in cells if "," in text)
            raise DataError(
                f"{table.path}: {example!r} in {name} could have a decimal comma or a comma between thousands",
                remedies=[Remedy("data.decimal", "comma"), Remedy("data.decimal", "point"), "write it without commas"],
            )
        if len(column.units) > 1:
            told = ", ".join(f"{count} with {repr(unit) if unit else 'none'}" for unit, count in column.units.most_common())
            raise DataError(f"{table.path}: the numbers in {name} have different units ({told}); convert them to one unit")
        self._remarks += [f"{table.path.name}, {name}: {remark}" for remark in column.remarks]
        return [_with(row, "value", value) for row, value in zip(rows, column.values, strict=True)]

    def _tables(self, names: Sequence[str]) -> Iterator[DataTable]:
        for name in names:
            folder = user_paths.expand(name)
            if folder.is_dir() and (classes := input_files.class_folders(folder)) and "label" in self.wanted:
                self._remarks.append(f"the folders in {folder.name} are the classes: {', '.join(classes)}")
                yield reading.read_class_folder(folder, classes, self.form)
                continue
            paths = input_files.expand([name])
            if "target" in self.wanted and len(names) == 2 and not any(map(reading.is_table, input_files.expand(names))):
                sides = input_files.expand(names)
                pairs = text_files.read_parallel_lines(*sides, encoding=self.data.encoding, limits=self.form.limits)
                yield DataTable(sides[0], ("text", "target"), partial(enumerate, pairs, 1), roles=("text", "target"))
                return
            for path in paths:
                if "tags" in self.wanted and reading.has_sentences(path, self.form):
                    yield reading.read_conll(path, self.form, self.data.label)
                elif "target" in self.wanted and not reading.is_table(path):
                    raise DataError(f"{path} is no table ({', '.join(reading.READERS)}); use one, or two parallel texts")
                else:
                    yield reading.read(path, self.form)

    def _with_checked_labels(self, rows: dict[str, list[Document]]) -> dict[str, list[Document]]:
        """The rows with one spelling for each class."""
        labels = [row.fields["label"] for of_split in rows.values() for row in of_split]
        class_labels.check(labels, self._place)
        spelt, remarks = class_labels.merged(labels)
        self._remarks += [*remarks, *class_labels.remarks(spelt, self._first_label)]
        spelling = dict(zip(labels, spelt, strict=True))
        return {
            split: [_with(row, "label", spelling[row.fields["label"]]) for row in of_split]
            for split, of_split in rows.items()
        }

    def _check_targets(self, rows: Sequence[Document]) -> None:
        targets = {row.fields["target"] for row in rows}
        if not self.data.insist and len(rows) >= MANY_ROWS and len(targets) <= FEW_TARGETS:
            raise DataError(
                f"{self._place}: {len(rows)} rows have only {len(targets)} different targets, such as "
                f"{min(targets)[:40]!r}, which look like classes",
                remedies=["use the recipe classifier", Remedy("data.target", "NAME"), class_labels.INSIST],
            )

    def _remark_on_texts(self, rows: Sequence[Document]) -> None:
        labels: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            labels[row.text].add(row.fields.get("label", ""))
        if repeated := len(rows) - len(labels):
            self._remarks.append(f"{repeated} rows repeat a text of an earlier row; equal texts are in the same split")
        if ambiguous := sum(len(of_text) > 1 for of_text in labels.values()):
            self._remarks.append(f"{ambiguous} {'text has' if ambiguous == 1 else 'texts have'} more than one label")

    def _remark_on_few(self, documents: Sequence[tuple[str, Document]]) -> None:
        counts = Counter(split for split, _ in documents)
        if counts["train"] < FEW_ROWS:
            few = counts["train"]
            self._remarks.append(f"warning: only {few} rows are for training; hardly anything is learnt from so few")
        if "label" in self.wanted:
            train, validation = (
                [document.fields["label"] for split, document in documents if split == name] for name in SPLITS[:2]
            )
            self._remarks += class_labels.split_remarks(train, validation)

    def _assign(self, rows: Sequence[Document]) -> list[str]:
        shares = self.names.shares(self.data)
        if self.data.group:
            groups = [row.fields["group"] for row in rows]
            of_group = splits.assign_groups(groups, *shares)
            return [of_group[group] for group in groups]
        if self.data.stratify and "label" in self.wanted:
            of_text = splits.assign_stratified({row.text: row.fields["label"] for row in rows}, *shares)
        else:
            of_text = splits.assign_splits((row.text for row in rows), *shares)
        return [of_text[row.text] for row in rows]


def _with(row: Document, role: str, text: str) -> Document:
    return replace(row, fields={**row.fields, role: text})


def _digest(path: Path, form: TableFormat) -> str:
    is_text = text_files.suffix(path) not in (".parquet", ".arrow", ".feather")
    return text_files.summarise(path, form.encoding, form.limits).digest if is_text else text_files.raw_digest(path)


def _converted(text: str, role: str) -> str:
    """A cell as the field of a document. The items of a list are words or labels."""
    if role == "labels":
        return class_labels.LABEL_SEPARATOR.join(class_labels.items(text))
    if role == "tags":
        return " ".join(text.replace(ITEM_SEPARATOR, " ").split())
    return text.replace(ITEM_SEPARATOR, " ")
