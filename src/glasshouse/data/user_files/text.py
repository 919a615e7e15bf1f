"""Your own text as a source: plain files, gzip, or JSON lines, with validation and test parts held out.

A plain file is one long text: its last parts are held out, cut at a line's end. A JSON-lines file is one document a line:
documents are held out by a digest of their text, so that a document that stands there twice cannot be in two splits.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.specs.errors import DataError


class UserText(Source):
    """Documents from files that a person names."""

    about = "your own files"
    origin = "this machine"
    licence = "yours"

    def __init__(self, files: tuple[str, ...], field: str, validation: float, test: float) -> None:
        self.files = [Path(name).expanduser() for name in files]
        self.field = field
        self.shares = (1 - validation - test, validation, test)

    def documents(self, split: str) -> Iterator[Document]:
        self._surveys  # noqa: B018 (every file is checked before the first document is given)
        for path in self.files:
            if _is_json_lines(path):
                yield from self._rows(path, split)
            else:
                yield from self._section(path, split)

    def fingerprint(self) -> str:
        return json.dumps([[s.digest for s in self._surveys.values()], self.field, self.shares])

    def bytes(self, split: str) -> int:
        return math.ceil(sum(s.bytes for s in self._surveys.values()) * self.shares[SPLITS.index(split)])

    @cached_property
    def _surveys(self) -> dict[Path, text_files.Survey]:
        return {path: text_files.survey(path) for path in self.files}

    def _section(self, path: Path, split: str) -> Iterator[Document]:
        """The part of a plain text that belongs to a split."""
        total = self._surveys[path].bytes
        train, validation, _ = self.shares
        targets = [0, round(total * train), round(total * (train + validation)), total]
        index = SPLITS.index(split)
        start, end = targets[index], targets[index + 1]
        begun, offset = False, 0
        for part in text_files.parts(path):
            length = len(part.encode())
            # A border depends on its own target and part alone, so neighbouring splits agree on it.
            first = _border(part, start - offset, length)
            last = _border(part, end - offset, length) if end < total else None
            if first is not None and (text := part[first:last]):
                yield Document(text, continues=begun)
                begun = True
            if last is not None:
                return
            offset += length

    def _rows(self, path: Path, split: str) -> Iterator[Document]:
        low, high = self._thresholds[SPLITS.index(split)]
        for text in self._texts(path):
            if low <= _digest(text) < high:
                yield Document(text)

    def _texts(self, path: Path) -> Iterator[str]:
        for number, line in enumerate(text_files.lines(path), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError("not-json", f"{path}, line {number}, is not JSON: {error}") from None
            text = row.get(self.field) if isinstance(row, dict) else None
            if not isinstance(text, str):
                fields = ", ".join(row) if isinstance(row, dict) else type(row).__name__
                raise DataError(
                    "missing-column",
                    f"{path}, line {number}, has no text in the field {self.field!r} (it has: {fields}); "
                    "name the field that holds the text: data.field=NAME",
                )
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise DataError(
                    "lone-surrogate",
                    f"{path}, line {number}, has half of a surrogate pair, U+{ord(text[error.start]):04X}, which is no "
                    "character; remove it or replace it",
                ) from None
            if text:
                yield text

    @cached_property
    def _thresholds(self) -> list[tuple[int, int]]:
        """For each split, the range of digests that falls to it, so that the shares of documents come out right."""
        digests = [_digest(text) for path in self.files if _is_json_lines(path) for text in self._texts(path)]
        unique = np.unique(np.array(digests, dtype=np.uint64))
        if len(unique) == 0:
            raise DataError(
                "no-rows", f"{', '.join(map(str, self.files))}: no line has any text in the field {self.field!r}"
            )
        held = [max(1, round(len(unique) * share)) if share else 0 for share in self.shares[1:]]
        if sum(held) >= len(unique):
            raise DataError(
                "too-few-to-hold-out",
                f"{len(unique)} different documents are too few to hold some out; "
                "give more, or set data.validation=0 data.test=0",
            )
        borders = [0]
        for count in (len(unique) - sum(held), held[0], held[1]):
            reached = (borders[-1] and int(np.searchsorted(unique, borders[-1]))) + count
            borders.append(int(unique[reached]) if reached < len(unique) else 1 << 64)
        return list(pairwise(borders))


def _is_json_lines(path: Path) -> bool:
    return any(suffix in (".jsonl", ".ndjson") for suffix in path.suffixes)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _border(part: str, target: int, length: int) -> int | None:
    """Where to cut a part for a target counted in bytes from its start; None when the target lies beyond it.

    That is after the next line's end, where the part has no more of those after the next space, else at once.
    """
    if target <= 0:
        return 0
    if target >= length:
        return None
    index = len(part.encode()[:target].decode("utf-8", "ignore"))
    for mark in ("\n", " "):
        found = part.find(mark, index)
        if found >= 0:
            return found + 1
    return index
