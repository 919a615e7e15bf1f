"""Your own translations as a source: a pair a document, from TSV (source, tab, target), CSV or JSON lines with named fields,
or from two plain files, line by line.

Pairs are held out by a digest of their source, so that a source that stands there twice cannot be in two splits.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from glasshouse.data import table_files, text_files
from glasshouse.data.documents import Document, Source
from glasshouse.specs.errors import DataError

_ROWS = (".tsv", ".csv", ".jsonl", ".ndjson")


class UserPairs(Source):
    """Texts with their translations from files that a person names."""

    about = "your own pairs"
    origin = "this machine"
    licence = "yours"
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def __init__(self, files: tuple[str, ...], field: str, target: str, validation: float, test: float) -> None:
        self.files = [Path(name).expanduser() for name in files]
        self.field, self.target = field, target
        self.validation, self.test = validation, test

    def documents(self, split: str) -> Iterator[Document]:
        for home, document in self._pairs:
            if home == split:
                yield document

    def fingerprint(self) -> str:
        digests = [text_files.survey(path).digest for path in self.files]
        return json.dumps([digests, self.field, self.target, self.validation, self.test])

    def notes(self) -> list[str]:
        """What a person should know of the pairs: those that were left out, sources that stand there twice."""
        self._pairs  # noqa: B018 (reads them)
        return self._remarks

    @cached_property
    def _pairs(self) -> list[tuple[str, Document]]:
        self._remarks: list[str] = []
        found = self._read()
        kept = [(source, target) for source, target in found if source and target]
        names = ", ".join(map(str, self.files))
        if not kept:
            raise DataError("no-rows", f"{names}: no pair has both a source and a target")
        if len(kept) < len(found):
            self._remarks.append(f"{len(found) - len(kept)} of {len(found)} pairs lack a side and are left out")
        sources = {source for source, _ in kept}
        if len(sources) < len(kept):
            self._remarks.append(
                f"{len(kept) - len(sources)} pairs repeat a source that stands there already; all of one are in one split"
            )
        homes = table_files.homes(sources, self.validation, self.test)
        return [(homes[source], Document(source, fields={"target": target})) for source, target in kept]

    def _read(self) -> list[tuple[str, str]]:
        if any(suffix in _ROWS for path in self.files for suffix in path.suffixes):
            columns = (
                table_files.Column(self.field, "data.field", "source"),
                table_files.Column(self.target, "data.target", "target"),
            )
            return [row for path in self.files for row in table_files.read(path, columns)]
        if len(self.files) != 2:
            raise DataError(
                "not-a-table",
                f"{', '.join(map(str, self.files))}: pairs are read from .tsv (source, tab, target), .csv or .jsonl files, "
                "or from two plain files, line by line: data.files=[source.txt,target.txt]",
            )
        return lines(*self.files)


def lines(source: Path, target: Path) -> list[tuple[str, str]]:
    """The pairs of two files, line by line; refused where they have not the same number of lines."""
    sides = [[line.strip() for line in text_files.lines(path)] for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            "unequal-line-counts",
            f"{source} has {len(sides[0])} lines and {target} has {len(sides[1])}, but line n of one must translate "
            "line n of the other; mend them, or give the pairs in one .tsv file",
        )
    return list(zip(*sides, strict=True))
