"""The user's own labelled texts as a source: TSV (label, tab, text), CSV or JSON lines with one document in each row.

Splits are assigned by a digest of the text, so a text that occurs twice is never in two splits.
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from glasshouse.data import table_files, text_files
from glasshouse.data.documents import Document, Source
from glasshouse.specs.errors import DataError


class UserLabelled(Source):
    """Labelled documents from the user's files."""

    about = "your own rows"
    origin = "this machine"
    licence = "yours"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, files: tuple[str, ...], field: str, label: str, validation: float, test: float) -> None:
        self.files = [Path(name).expanduser() for name in files]
        self.field, self.label = field, label
        self.validation, self.test = validation, test

    def documents(self, split: str) -> Iterator[Document]:
        for row_split, document in self._rows:
            if row_split == split:
                yield document

    def fingerprint(self) -> str:
        digests = [text_files.summarise(path).digest for path in self.files]
        return json.dumps([digests, self.field, self.label, self.validation, self.test])

    def notes(self) -> list[str]:
        """Remarks about skipped rows, repeated texts and texts with several labels."""
        self._rows  # noqa: B018 (reading the rows collects the remarks)
        return self._remarks

    @cached_property
    def _rows(self) -> list[tuple[str, Document]]:
        """(split, document) of every row that has both a label and a text."""
        self._remarks: list[str] = []
        columns = table_files.Column(self.label, "data.label", "label"), table_files.Column(self.field, "data.field", "text")
        rows = [row for path in self.files for row in table_files.read_rows(path, columns)]
        complete = [(label, text) for label, text in rows if text and label]
        if not complete:
            raise DataError(
                "no-rows",
                f"{', '.join(map(str, self.files))}: no row has both a label and a text; check the file and its columns",
            )
        if len(complete) < len(rows):
            self._remarks.append(f"{len(rows) - len(complete)} of {len(rows)} rows have no text or no label and are skipped")
        texts = Counter(text for _, text in complete)
        if len(texts) < len(complete):
            self._remarks.append(
                f"{len(complete) - len(texts)} rows repeat a text of an earlier row; equal texts are in the same split"
            )
        labels: dict[str, set[str]] = {}
        for label, text in complete:
            labels.setdefault(text, set()).add(label)
        if ambiguous := sum(len(labels_of_text) > 1 for labels_of_text in labels.values()):
            self._remarks.append(f"{ambiguous} texts have more than one label")
        splits = table_files.assign_splits(texts, self.validation, self.test)
        return [(splits[text], Document(text, fields={"label": label})) for label, text in complete]
