"""Your own labelled text as a source: a row a document, from TSV (label, tab, text), CSV or JSON lines with named fields.

Rows are held out by a digest of their text, so that a text that stands there twice cannot be in two splits.
"""

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.specs.errors import DataError


class OwnRows(Source):
    """Labelled documents from files that a person names."""

    about = "your own rows"
    origin = "this machine"
    licence = "yours"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, files: tuple[str, ...], field: str, label: str, validation: float, test: float) -> None:
        self.files = [Path(name).expanduser() for name in files]
        self.field, self.label = field, label
        self.shares = (1 - validation - test, validation, test)

    def documents(self, split: str) -> Iterator[Document]:
        for home, document in self._rows:
            if home == split:
                yield document

    def fingerprint(self) -> str:
        digests = [text_files.survey(path).digest for path in self.files]
        return json.dumps([digests, self.field, self.label, self.shares])

    def notes(self) -> list[str]:
        """What a person should know of the rows: those that were left out, texts that stand there twice."""
        self._rows  # noqa: B018 (reads them)
        return self._remarks

    @cached_property
    def _rows(self) -> list[tuple[str, Document]]:
        self._remarks: list[str] = []
        found = [row for path in self.files for row in self._read(path)]
        kept = [(label, text) for label, text in found if text.strip() and label]
        if not kept:
            raise DataError(f"{', '.join(map(str, self.files))}: no row has both a label and a text")
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
        homes = self._homes(sorted(texts, key=_digest))
        return [(homes[text], Document(text, fields={"label": label})) for label, text in kept]

    def _homes(self, texts: list[str]) -> dict[str, str]:
        """The split of each text: the shares of the texts in the order of their digests."""
        held = [max(1, round(len(texts) * share)) if share else 0 for share in self.shares[1:]]
        if sum(held) >= len(texts):
            raise DataError(
                f"{len(texts)} different texts are too few to hold some out; give more, or set data.validation=0 data.test=0"
            )
        train = len(texts) - sum(held)
        borders = (train, train + held[0])
        return {text: SPLITS[(index >= borders[0]) + (index >= borders[1])] for index, text in enumerate(texts)}

    def _read(self, path: Path) -> Iterator[tuple[str, str]]:
        suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
        kind = suffixes[-1] if suffixes else ""
        if kind in (".jsonl", ".ndjson"):
            yield from self._json_rows(path)
        elif kind == ".csv":
            yield from self._csv_rows(path)
        elif kind == ".tsv":
            for number, line in enumerate(text_files.lines(path), 1):
                label, tab, text = line.rstrip("\r").partition("\t")
                if line.strip() and not tab:
                    raise DataError(f"{path}, line {number}, has no tab; write label, tab, text on each line")
                if tab:
                    yield label.strip(), text.strip()
        else:
            raise DataError(
                f"{path}: rows with labels are read from .tsv (label, tab, text), .csv or .jsonl files; rename or convert it"
            )

    def _csv_rows(self, path: Path) -> Iterator[tuple[str, str]]:
        reader = csv.DictReader(text_files.lines(path))
        for name, field in ((self.field, "data.field"), (self.label, "data.label")):
            if name not in (reader.fieldnames or ()):
                known = ", ".join(reader.fieldnames or ())
                raise DataError(f"{path} has no column {name!r} (it has: {known}); name it: {field}=NAME")
        for row in reader:
            yield (row[self.label] or "").strip(), (row[self.field] or "").strip()

    def _json_rows(self, path: Path) -> Iterator[tuple[str, str]]:
        for number, line in enumerate(text_files.lines(path), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{path}, line {number}, is not JSON: {error}") from None
            for name, field in ((self.field, "data.field"), (self.label, "data.label")):
                if not isinstance(row, dict) or name not in row:
                    known = ", ".join(row) if isinstance(row, dict) else type(row).__name__
                    raise DataError(f"{path}, line {number}, has no field {name!r} (it has: {known}); name it: {field}=NAME")
            yield str(row[self.label]).strip(), str(row[self.field]).strip()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
