"""The user's own rows as a source: labelled texts, numbers, tags, pairs and translations from any table.

A document is a row. Splits are assigned by a digest of the text, so a text that occurs twice is never in two splits. Files
that are named for a split belong to it as a whole.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from glasshouse.data import input_files, splits, text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.tables import class_labels, columns, label_lists, number_columns, reading
from glasshouse.data.tables.columns import ColumnRequest
from glasshouse.data.tables.table import ITEM_SEPARATOR, DataTable, Row, TableFormat
from glasshouse.records import user_paths
from glasshouse.specs.errors import DataError, Remedy
from glasshouse.specs.spec import DataSpec

# A target with at most so many values in at least so many rows looks like a class.
FEW_TARGETS, MANY_ROWS = 20, 200
# The columns of classes, and what stands between several in a cell.
SEPARATORS = {"label": "", "labels": label_lists.LABEL_SEPARATOR, "tags": " "}
# Rows between two updates of a progress bar.
SHOWN_EVERY = 1000
# Fewer rows for training are warned of.
FEW_ROWS = 10


class UserRows(Source):
    """Documents from the rows of the user's tables. `wanted` are the columns that the task needs besides the text."""

    about = "your own rows"
    origin = "this machine"
    licence = "yours"
    columns: ClassVar[tuple[str, ...]] = ("label", "labels", "value", "tags", "second", "target")

    def __init__(self, data: DataSpec, wanted: tuple[str, ...]) -> None:
        self.data = data
        self.wanted = (*wanted, "second") if data.second and "second" not in wanted else wanted
        self.names = input_files.of(data)
        self.form = TableFormat.of(data)

    def documents(self, split: str) -> Iterator[Document]:
        for row_split, document in self._rows:
            if row_split == split:
                yield document

    def fingerprint(self) -> str:
        data = self.data
        with text_files.naming_all(lambda: self._paths, data.encoding, self.form.limits):
            digests = [_digest(path, self.form) for path in self._paths]
        settings: list[Any] = [data.label if "target" not in self.wanted else data.target, data.validation, data.test]
        more = {
            name: value
            for name, value in {
                "second": data.second,
                "header": data.header,
                "delimiter": data.delimiter,
                "group": data.group,
                "stratify": data.stratify,
                "insist": data.insist,
                "decimal": data.decimal,
                "missing_targets": data.missing_targets,
                "splits": {split: len(input_files.expand(names)) for split, names in self.names.by_split()},
            }.items()
            if value not in ("", "auto", "refuse", False) and (name != "splits" or self.names.validation or self.names.test)
        }
        return json.dumps([digests, data.field, *settings, *([more] if more else [])])

    def notes(self) -> list[str]:
        """Remarks on the format, on skipped rows, on repeated texts and on the classes."""
        self._rows  # noqa: B018 (reading the rows collects the remarks)
        return self._remarks

    @cached_property
    def _paths(self) -> list[Path]:
        return [path for _, names in self.names.by_split() for path in input_files.expand(names)]

    @cached_property
    def _rows(self) -> list[tuple[str, Document]]:
        """(split, document) of every row that is complete."""
        self._remarks: list[str] = list(self.names.remarks)
        self._first_label = ""
        self._classes: set[str] = set()
        with text_files.naming_all(lambda: self._paths, self.data.encoding, self.form.limits):
            rows = {split: self._read(names) for split, names in self.names.by_split()}
        complete = {split: [row for row in of_split if all(row[: len(self._required)])] for split, of_split in rows.items()}
        count, total = (sum(map(len, table.values())) for table in (complete, rows))
        if not complete["train"]:
            needs = " and ".join(f"a {role}" for role in self._required)
            raise DataError(f"{self._place}: no row has {needs}; check the file and its columns")
        if count < total:
            lacking = " or no ".join(self._required)
            self._remarks.append(f"{total - count} of {total} rows have no {lacking} and are skipped")
        if "label" in self.wanted:
            complete = self._with_checked_labels(complete)
        self._check_values(complete)
        train = complete["train"]
        texts = Counter(row[0] for row in train)
        if len(texts) < len(train):
            self._remarks.append(
                f"{len(train) - len(texts)} rows repeat a text of an earlier row; equal texts are in the same split"
            )
        if "label" in self.wanted:
            self._remark_on_ambiguous(train)
        split_of = self._assign(train)
        documents = [
            *((split_of[index], self._document(row)) for index, row in enumerate(train)),
            *((split, self._document(row)) for split in SPLITS[1:] for row in complete.get(split, ())),
        ]
        self._remark_on_few(documents)
        return documents

    @property
    def _place(self) -> str:
        return ", ".join(map(str, self._paths))

    @property
    def _required(self) -> tuple[str, ...]:
        """What a complete row has. Texts without any of several labels are complete."""
        return ("text", *(role for role in self.wanted if role != "labels"))

    def _requests(self) -> list[ColumnRequest]:
        """The columns to be found, in the order in which a file without a header has them."""
        data = self.data
        text = ColumnRequest(data.field, "text", "data.field", "text")
        kinds = {"label": "category", "labels": "list", "value": "number", "tags": "list"}
        requests = [
            ColumnRequest(data.label, "label" if data.label == "label" else role, "data.label", role, kinds[role])
            for role in self.wanted
            if role in kinds
        ]
        requests.append(text)
        if "second" in self.wanted:
            requests.append(ColumnRequest(data.second, "second", "data.second", "second"))
        if "target" in self.wanted:
            requests.append(ColumnRequest(data.target, "target", "data.target", "target"))
        if data.group:
            requests.append(ColumnRequest(data.group, "", "data.group", "group", "any"))
        return requests

    def _read(self, names: Sequence[str]) -> list[Row]:
        """The rows of files: the required cells, then the remaining ones."""
        rows: list[Row] = []
        for table in self._tables(names):
            requests = self._requests()
            found = columns.find(table, requests)
            self._remarks += [remark for remark in (*table.remarks, *found.remarks) if remark not in self._remarks]
            index_of = {request.role: index for request, index in zip(requests, found.indices, strict=True)}
            optional = [role for role in index_of if role not in self._required]
            roles = [*self._required, *optional]
            of_table = self._kept(table, roles, index_of)
            if "value" in index_of:
                of_table = self._with_numbers(table, index_of["value"], of_table)
            if "label" in index_of and self.data.missing_targets == "skip":
                of_table = self._without_placeholders(of_table)
            rows += of_table
            if not table.named and "label" in index_of and rows:
                self._first_label = table.sample[0][index_of["label"]]
        return rows

    def _kept(self, table: DataTable, roles: Sequence[str], index_of: Mapping[str, int]) -> list[Row]:
        """The cells of every row by role, within the limits on memory and on classes."""
        converted = (tuple(_converted(row[index_of[role]], role) for role in roles) for row in table.rows())
        places = [(place, SEPARATORS[role]) for place, role in enumerate(roles) if role in SEPARATORS]
        rows: list[Row] = []
        size = max(table.path.stat().st_size, 1) if table.path.is_file() else 1
        characters = 0
        for row in self.form.limits.kept(converted, table.path):
            characters += sum(map(len, row)) + len(row)
            if len(rows) % SHOWN_EVERY == SHOWN_EVERY - 1:
                self.progress("reading rows", characters / size)
            for place, separator in places:
                self._classes.update(row[place].split(separator) if separator else row[place : place + 1])
                self.form.limits.check_classes(len(self._classes), str(table.path))
            rows.append(row)
        return rows

    def _with_numbers(self, table: DataTable, index: int, rows: Sequence[Row]) -> list[Row]:
        """The rows with plain numbers. Refuses numbers that could mean several things, and placeholders for numbers."""
        position = self._required.index("value")
        column = number_columns.read([row[position] for row in rows], self.data.decimal)
        name = table.called(index)
        if column.wrong:
            raise DataError(
                f"{table.path}, {table.places(column.wrong)}: {rows[column.wrong[0]][position][:40]!r} in {name} is not a "
                "number",
                remedies=["correct it", Remedy("data.label", "NAME")],
            )
        if column.missing and self.data.missing_targets == "refuse":
            raise DataError(
                f"{table.path}, {table.places(column.missing)}: {len(column.missing)} of {len(rows)} rows have no number in "
                f"{name}, such as {rows[column.missing[0]][position]!r}",
                remedies=["fill them in", Remedy("data.missing_targets", "skip", "leave these rows out with")],
            )
        if not column.decimal:
            example = next(row[position] for row in rows if "," in row[position])
            raise DataError(
                f"{table.path}: {example!r} in {name} could have a decimal comma or a comma between thousands",
                remedies=[Remedy("data.decimal", "comma"), Remedy("data.decimal", "point"), "write it without commas"],
            )
        if len(column.units) > 1:
            told = ", ".join(f"{count} with {repr(unit) if unit else 'none'}" for unit, count in column.units.most_common())
            raise DataError(f"{table.path}: the numbers in {name} have different units ({told}); convert them to one unit")
        self._remarks += [f"{table.path.name}, {name}: {remark}" for remark in column.remarks]
        return [(*row[:position], value, *row[position + 1 :]) for row, value in zip(rows, column.values, strict=True)]

    def _without_placeholders(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with an empty label for one such as n/a. They are skipped with those that have none."""
        position = self._required.index("label")
        return [
            (*row[:position], "" if number_columns.is_missing(row[position]) else row[position], *row[position + 1 :])
            for row in rows
        ]

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
                yield DataTable(sides[0], ("text", "target"), partial(iter, pairs), roles=("text", "target"))
                return
            for path in paths:
                if "tags" in self.wanted:
                    yield reading.read_sentences(path, self.form, self.data.label)
                elif "target" in self.wanted and not reading.is_table(path):
                    raise DataError(
                        f"{path}: translation pairs must be in a table ({', '.join(reading.READERS)}), or in two parallel "
                        "text files, of the source and of the target"
                    )
                else:
                    yield reading.read(path, self.form)

    def _with_checked_labels(self, rows: dict[str, list[Row]]) -> dict[str, list[Row]]:
        """The rows with one spelling for each class."""
        if self.data.insist:
            return rows
        position = self._required.index("label")
        labels = [row[position] for of_split in rows.values() for row in of_split]
        class_labels.check(labels, self._place)
        spelt, remarks = class_labels.merged(labels)
        self._remarks += [*remarks, *class_labels.remarks(spelt, self._first_label)]
        spelling = dict(zip(labels, spelt, strict=True))
        return {
            split: [(*row[:position], spelling[row[position]], *row[position + 1 :]) for row in of_split]
            for split, of_split in rows.items()
        }

    def _check_values(self, rows: dict[str, list[Row]]) -> None:
        """Refuse targets that look like classes, and tags that do not fit their words."""
        every = [row for of_split in rows.values() for row in of_split]
        if "target" in self.wanted and not self.data.insist and len(every) >= MANY_ROWS:
            targets = {row[self._required.index("target")] for row in every}
            if len(targets) <= FEW_TARGETS:
                raise DataError(
                    f"{self._place}: {len(every)} rows have only {len(targets)} different targets, such as "
                    f"{min(targets)[:40]!r}, which look like classes",
                    remedies=["use the recipe classifier", Remedy("data.target", "NAME"), class_labels.INSIST],
                )
        if "tags" in self.wanted:
            position = self._required.index("tags")
            for row in every:
                if len(row[0].split(" ")) != len(row[position].split(" ")):
                    raise DataError(
                        f"{self._place}: the text {row[0][:40]!r} has {len(row[0].split(' '))} words and "
                        f"{len(row[position].split(' '))} tags; there must be a tag for each word"
                    )

    def _remark_on_ambiguous(self, rows: Sequence[Row]) -> None:
        position = self._required.index("label")
        labels: dict[str, set[str]] = {}
        for row in rows:
            labels.setdefault(row[0], set()).add(row[position])
        if ambiguous := sum(len(labels_of_text) > 1 for labels_of_text in labels.values()):
            self._remarks.append(f"{ambiguous} {'text has' if ambiguous == 1 else 'texts have'} more than one label")

    def _remark_on_few(self, documents: Sequence[tuple[str, Document]]) -> None:
        """Warn of splits and classes that are too small."""
        by_split = {name: [document for split, document in documents if split == name] for name in SPLITS}
        if len(by_split["train"]) < FEW_ROWS:
            few = len(by_split["train"])
            self._remarks.append(f"warning: only {few} rows are for training; hardly anything is learnt from so few")
        if "label" in self.wanted:
            train, validation = ([document.fields["label"] for document in by_split[name]] for name in SPLITS[:2])
            self._remarks += class_labels.split_remarks(train, validation)

    def _assign(self, rows: Sequence[Row]) -> list[str]:
        """The split of each row of the training files."""
        shares = self.names.shares(self.data)
        if self.data.group:
            groups = [row[-1] for row in rows]
            of_group = splits.assign_groups(groups, *shares)
            return [of_group[group] for group in groups]
        if self.data.stratify and "label" in self.wanted:
            position = self._required.index("label")
            of_text = splits.assign_stratified({row[0]: row[position] for row in rows}, *shares)
        else:
            of_text = splits.assign_splits((row[0] for row in rows), *shares)
        return [of_text[row[0]] for row in rows]

    def _document(self, row: Row) -> Document:
        fields = dict(zip(self._required[1:], row[1:], strict=False))
        if "labels" in self.wanted:
            fields["labels"] = row[len(self._required)]
        return Document(row[0], fields=fields)


def _digest(path: Path, form: TableFormat) -> str:
    is_text = text_files.suffix(path) not in (".parquet", ".arrow", ".feather")
    return text_files.summarise(path, form.encoding, form.limits).digest if is_text else text_files.raw_digest(path)


def _converted(text: str, role: str) -> str:
    """A cell as the field of a document. The items of a list are words or labels."""
    if role == "labels":
        return label_lists.LABEL_SEPARATOR.join(label_lists.items(text))
    if role == "tags":
        return " ".join(text.replace(ITEM_SEPARATOR, " ").split())
    return text.replace(ITEM_SEPARATOR, " ")
