"""The user's own translation pairs as a source.

Pairs come from TSV (source, tab, target), CSV or JSON lines with one pair in each row, or from two parallel text files.
Splits are assigned by a digest of the source text, so a source text that occurs twice is never in two splits.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from glasshouse.data import table_files, text_files
from glasshouse.data.documents import Document, Source
from glasshouse.specs.errors import DataError

_TABLE_SUFFIXES = (".tsv", ".csv", ".jsonl", ".ndjson")


class UserPairs(Source):
    """Texts with their translations from the user's files."""

    about = "your own pairs"
    origin = "this machine"
    licence = "yours"
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def __init__(self, files: tuple[str, ...], field: str, target: str, validation: float, test: float) -> None:
        self.files = [Path(name).expanduser() for name in files]
        self.field, self.target = field, target
        self.validation, self.test = validation, test

    def documents(self, split: str) -> Iterator[Document]:
        for pair_split, document in self._pairs:
            if pair_split == split:
                yield document

    def fingerprint(self) -> str:
        digests = [text_files.summarise(path).digest for path in self.files]
        return json.dumps([digests, self.field, self.target, self.validation, self.test])

    def notes(self) -> list[str]:
        """Remarks about skipped pairs and repeated source texts."""
        self._pairs  # noqa: B018 (reading the pairs collects the remarks)
        return self._remarks

    @cached_property
    def _pairs(self) -> list[tuple[str, Document]]:
        """(split, document) of every pair that has both a source and a target."""
        self._remarks: list[str] = []
        pairs = self._read()
        complete = [(source, target) for source, target in pairs if source and target]
        names = ", ".join(map(str, self.files))
        if not complete:
            raise DataError("no-rows", f"{names}: no pair has both a source and a target; check the file and its columns")
        if len(complete) < len(pairs):
            self._remarks.append(
                f"{len(pairs) - len(complete)} of {len(pairs)} pairs have no source or no target and are skipped"
            )
        sources = {source for source, _ in complete}
        if len(sources) < len(complete):
            self._remarks.append(
                f"{len(complete) - len(sources)} pairs repeat the source text of an earlier pair; "
                "equal sources are in the same split"
            )
        splits = table_files.assign_splits(sources, self.validation, self.test)
        return [(splits[source], Document(source, fields={"target": target})) for source, target in complete]

    def _read(self) -> list[tuple[str, str]]:
        if any(suffix in _TABLE_SUFFIXES for path in self.files for suffix in path.suffixes):
            columns = (
                table_files.Column(self.field, "data.field", "source"),
                table_files.Column(self.target, "data.target", "target"),
            )
            return [row for path in self.files for row in table_files.read_rows(path, columns)]
        if len(self.files) != 2:
            raise DataError(
                "not-a-table",
                f"{', '.join(map(str, self.files))}: translation pairs must be in .tsv (source, tab, target), .csv or "
                ".jsonl files, or in two parallel text files: data.files=[source.txt,target.txt]",
            )
        return read_parallel_lines(*self.files)


def read_parallel_lines(source: Path, target: Path) -> list[tuple[str, str]]:
    """The pairs of two files: line n of one with line n of the other. Both must have the same number of lines."""
    sides = [[line.strip() for line in text_files.read_lines(path)] for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            "unequal-line-counts",
            f"{source} has {len(sides[0])} lines and {target} has {len(sides[1])}, but line n of one must belong to "
            "line n of the other; correct the files, or put the pairs into one .tsv file",
        )
    return list(zip(*sides, strict=True))
