"""Your own labelled text as a source: a row a document, from TSV (label, tab, text), CSV or JSON lines with named fields.

Rows are held out by a digest of their text, so that a text that stands there twice cannot be in two splits.
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
    """Labelled documents from files that a person names."""

    about = "your own rows"
    origin = "this machine"
    licence = "yours"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, files: tuple[str, ...], field: str, label: str, validation: float, test: float) -> None:
        self.files = [Path(name).expanduser() for name in files]
        self.field, self.label = field, label
        self.validation, self.test = validation, test

    def documents(self, split: str) -> Iterator[Document]:
        for home, document in self._rows:
            if home == split:
                yield document

    def fingerprint(self) -> str:
        digests = [text_files.survey(path).digest for path in self.files]
        return json.dumps([digests, self.field, self.label, self.validation, self.test])

    def notes(self) -> list[str]:
        """What a person should know of the rows: those that were left out, texts that stand there twice."""
        self._rows  # noqa: B018 (reads them)
        return self._remarks

    @cached_property
    def _rows(self) -> list[tuple[str, Document]]:
        self._remarks: list[str] = []
        columns = table_files.Column(self.label, "data.label", "label"), table_files.Column(self.field, "data.field", "text")
        found = [row for path in self.files for row in table_files.read(path, columns)]
        kept = [(label, text) for label, text in found if text and label]
        if not kept:
            raise DataError("no-rows", f"{', '.join(map(str, self.files))}: no row has both a label and a text")
        if len(kept) < len(found):
            self._remarks.append(f"{len(found) - len(kept)} of {len(found)} rows have no text or no label and are left out")
        texts = Counter(text for _, text in kept)
        if len(texts) < len(kept):
            self._remarks.append(
                f"{len(kept) - len(texts)} rows repeat a text that stands there already; all of one text are in one split"
            )
        labels: dict[str, set[str]] = {}
        for label, text in kept:
            labels.setdefault(text, set()).add(label)
        if torn := sum(len(each) > 1 for each in labels.values()):
            self._remarks.append(f"{torn} texts have more than one label")
        homes = table_files.homes(texts, self.validation, self.test)
        return [(homes[text], Document(text, fields={"label": label})) for label, text in kept]
