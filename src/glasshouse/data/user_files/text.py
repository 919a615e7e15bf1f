"""The user's own text as a source: plain or compressed files, JSON lines, documents and tables, with parts held out.

A plain file is one long document. Its last parts are held out, divided at line ends. A JSON-lines file holds one document on
each line. Its documents are assigned to splits by a digest of their text, so a document that occurs twice is never in two
splits. Files that are named for a split belong to it as a whole.
"""

import hashlib
import json
import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.data import file_summaries, input_files, read_limits, splits, text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.read_limits import ReadLimits
from glasshouse.data.tables.object_rows import flattened, parse_line
from glasshouse.data.user_files import converted
from glasshouse.specs.errors import DataError, Remedy
from glasshouse.specs.spec import DataSpec


class UserText(Source):
    about = "your own files"
    origin = "this machine"
    licence = "yours"

    def __init__(self, data: DataSpec) -> None:
        names = input_files.of(data)
        self.remarks = list(names.remarks)
        validation, test = names.shares(data)
        self.shares = (1 - validation - test, validation, test)
        self.field, self.limits = data.field, ReadLimits.of(data.limits)
        self.files: list[Path] = []
        self.converted: set[Path] = set()
        self.originals: dict[Path, Path] = {}  # of files that were converted
        self.own_split: dict[Path, str] = {}  # of files that belong to one split as a whole
        for split, of_split in names.by_split():
            paths = input_files.expand(of_split)
            for path in paths:
                with text_files.naming_all(paths, data.encoding, self.limits):
                    readable = self._readable(path, data)
                if split != "train":
                    self.own_split[readable] = split
                self.files.append(readable)

    def _readable(self, path: Path, data: DataSpec) -> Path:
        if not converted.is_converted(path, data.encoding):
            return path
        output, remarks = converted.convert(path, data)
        self.remarks += remarks
        self.originals[output] = path
        if converted.has_rows(path):
            self.converted.add(output)
        return output

    def documents(self, split: str) -> Iterator[Document]:
        self.summaries  # noqa: B018 (checks every file before the first document is read)
        for path in self.files:
            if is_json_lines(path):
                yield from (Document(text) for text_split, text in self.json_documents(path) if text_split == split)
            else:
                yield from self._section(path, split)

    def fingerprint(self) -> str:
        facts: list[Any] = [[summary.digest for summary in self.summaries.values()], self.field, self.shares]
        return json.dumps([*facts, list(self.own_split.values())] if self.own_split else facts)

    def notes(self) -> list[str]:
        return self.remarks

    def bytes(self, split: str) -> int:
        shares = {path: self.shares_of(path)[SPLITS.index(split)] for path in self.files}
        return math.ceil(sum(summary.bytes * shares[path] for path, summary in self.summaries.items()))

    def shares_of(self, path: Path) -> tuple[float, float, float]:
        own = self.own_split.get(path)
        return self.shares if own is None else (float(own == "train"), float(own == "validation"), float(own == "test"))

    @cached_property
    def summaries(self) -> dict[Path, text_files.FileSummary]:
        with text_files.naming_all(self.files, limits=self.limits):
            total = max(sum(path.stat().st_size for path in self.files if path.is_file()), 1)
            read = 0
            summaries = {}
            for path in self.files:
                show = lambda done, before=read: self.progress("checking text", (before + done) / total)  # noqa: E731
                summaries[path] = file_summaries.summarise(path, self.limits, show)
                read += path.stat().st_size
            return summaries

    def sections(self, path: Path) -> Iterator[tuple[str, str]]:
        """(split, text) of a plain file, in its order and in chunks."""
        total = self.summaries[path].bytes
        train, validation, _ = self.shares_of(path)
        targets = round(total * train), round(total * (train + validation))
        offset = 0
        for chunk in text_files.read_chunks(path, limits=self.limits):
            length = len(chunk.encode())
            ends = [_boundary(chunk, target - offset, length) if target < total else None for target in targets]
            limits = [0, *(len(chunk) if end is None else end for end in ends), len(chunk)]
            for split, (first, last) in zip(SPLITS, pairwise(limits), strict=True):
                if text := chunk[first:last]:
                    yield split, text
            offset += length

    def _section(self, path: Path, split: str) -> Iterator[Document]:
        """The section of a plain text that belongs to a split."""
        started = False
        for section_split, text in self.sections(path):
            if section_split == split:
                yield Document(text, continues=started)
                started = True
            elif started:
                return

    def json_documents(self, path: Path) -> Iterator[tuple[str, str]]:
        own = self.own_split.get(path)
        ranges = [] if own else self.digest_ranges
        for text in self._json_texts(path):
            yield own or assigned_split(text, ranges), text

    def _json_texts(self, path: Path) -> Iterator[str]:
        for number, line in enumerate(text_files.read_lines(path, limits=self.limits), 1):
            if text := json_text(line, self.field_of(path), f"{self.original(path)}, line {number},", self.limits):
                yield text

    def original(self, path: Path) -> Path:
        return self.originals.get(path, path)

    def field_of(self, path: Path) -> str:
        return converted.FIELD if path in self.converted else self.field

    @cached_property
    def digest_ranges(self) -> list[tuple[int, int]]:
        """The range of digests that belongs to each split. The ranges give every split its share of distinct documents."""
        json_files = [path for path in self.files if is_json_lines(path) and path not in self.own_split]
        # Eight bytes for each document: the only thing in memory that grows with the size of the text.
        digests = array("Q", (_digest(text) for path in json_files for text in self._json_texts(path)))
        unique = np.unique(np.frombuffer(digests, dtype=np.uint64) if digests else np.zeros(0, np.uint64))
        if len(unique) == 0:
            names = ", ".join(str(self.original(path)) for path in self.files)
            problem = f"{names}: no line has any text in the field {self.field!r}"
            raise DataError(problem, remedies=["check the file", Remedy("data.field", "NAME")])
        ends = accumulate(splits.split_sizes(len(unique), *self.shares[1:]))
        boundaries = (int(unique[end]) if end < len(unique) else 1 << 64 for end in ends)
        return list(pairwise((0, *boundaries)))


def is_json_lines(path: Path) -> bool:
    """Whether each line of the file holds a document."""
    return any(suffix in (".jsonl", ".ndjson") for suffix in path.suffixes)


def json_text(line: str, field: str, place: str, limits: ReadLimits = read_limits.DEFAULT) -> str:
    """The text of a JSON line; empty for a blank line. `place` names the line in errors."""
    if not line.strip():
        return ""
    row = parse_line(line, place, limits)
    fields = {**flattened(row), **row} if isinstance(row, dict) else {}
    text = fields.get(field)
    if not isinstance(text, str):
        raise DataError(
            f"{place} has no text in the field {field!r} (it has: {', '.join(fields) or type(row).__name__})",
            remedies=[Remedy("data.field", "NAME", "name the field that contains the text with"), "correct the file"],
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        lone = f"the lone surrogate U+{ord(text[error.start]):04X}"
        raise DataError(f"{place} contains {lone}, which is not a character; remove it or replace it") from None
    return text


def assigned_split(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """The split of a document: the one whose range holds the digest of its text."""
    digest = _digest(text)
    return next(split for split, (low, high) in zip(SPLITS, ranges, strict=True) if low <= digest < high)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _boundary(chunk: str, target: int, length: int) -> int | None:
    """The index at which to divide a chunk near a target, given in bytes from its start. None if the target is after it.

    The boundary is after the next line end. If the rest of the chunk has no line end, it is after the next space. If it has
    no space either, the boundary is the target itself.
    """
    if target <= 0:
        return 0
    if target >= length:
        return None
    index = len(chunk.encode()[:target].decode("utf-8", "ignore"))
    for separator in ("\n", " "):
        position = chunk.find(separator, index)
        if position >= 0:
            return position + 1
    return index
