"""The user's own text as a source: plain or compressed files, JSON lines, documents and tables, with parts held out.

A plain file is one long document. Its last parts are held out, divided at line ends. A JSON-lines file holds one document on
each line. Its documents are assigned to splits by a digest of their text, so a document that occurs twice is never in two
splits. Files that are named for a split belong to it as a whole.

A large text is cut into parts of bounded size, which can be encoded separately and in any order. A part is a list of pieces:
byte ranges of files. A plain file is cut between the blocks in which `shards.write` encodes it, so the tokens of the parts
are those of the whole text. A JSON-lines file is cut at line ends. A compressed file can only be read from its start, so it
is not cut.
"""

import hashlib
import json
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise
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
from glasshouse.tokenizers.safe_boundaries import split_into_blocks

PART_BYTES = 1 << 24


@dataclass(frozen=True)
class UserTextFile:
    """A file of text. `path` is read: the `original`, or the text that was converted from it.

    `field` is that of the text in JSON lines. `split` is empty if the file does not belong to one split as a whole.
    """

    path: Path
    original: Path
    field: str
    split: str = ""

    @property
    def has_json_lines(self) -> bool:
        """Whether each line holds a document."""
        return any(suffix in (".jsonl", ".ndjson") for suffix in self.path.suffixes)


class UserText(Source):
    def __init__(self, data: DataSpec) -> None:
        names = input_files.of(data)
        self.remarks = list(names.remarks)
        validation, test = names.shares(data)
        self.shares = (1 - validation - test, validation, test)
        self.field, self.limits = data.field, ReadLimits.of(data.limits)
        self.files: list[UserTextFile] = []
        for split, of_split in names.by_split():
            whole = "" if split == "train" else split
            self.files += [self._readable(path, data, whole) for path in input_files.expand(of_split)]

    def _readable(self, path: Path, data: DataSpec, split: str) -> UserTextFile:
        if not converted.is_converted(path, data.encoding):
            return UserTextFile(path, path, data.field, split)
        output, remarks = converted.convert(path, data)
        self.remarks += remarks
        return UserTextFile(output, path, converted.FIELD if converted.has_rows(path) else data.field, split)

    def documents(self, split: str) -> Iterator[Document]:
        self.summaries  # noqa: B018 (checks every file before the first document is read)
        for file in self.files:
            if not file.has_json_lines:
                yield from self._section(file, split)
            elif file.split in ("", split):
                ranges = [] if file.split else self.digest_ranges
                texts = self._json_texts(file)
                yield from (Document(text) for text in texts if file.split or assigned_split(text, ranges) == split)

    def fingerprint(self) -> str:
        facts: list[Any] = [[summary.digest for summary in self.summaries.values()], self.field, self.shares]
        own = [file.split for file in self.files if file.split]
        return json.dumps([*facts, own] if own else facts)

    def notes(self) -> list[str]:
        return self.remarks

    def bytes(self, split: str) -> int:
        return math.ceil(
            sum(self.summaries[file.path].bytes * self._shares_of(file)[SPLITS.index(split)] for file in self.files)
        )

    def _shares_of(self, file: UserTextFile) -> tuple[float, ...]:
        return tuple(float(file.split == split) for split in SPLITS) if file.split else self.shares

    @cached_property
    def summaries(self) -> dict[Path, text_files.FileSummary]:
        paths = [file.path for file in self.files]
        total = max(sum(path.stat().st_size for path in paths if path.is_file()), 1)
        read = 0
        summaries = {}
        for path in paths:
            show = lambda done, before=read: self.progress("checking text", (before + done) / total)  # noqa: E731
            summaries[path] = file_summaries.summarise(path, self.limits, show)
            read += path.stat().st_size
        return summaries

    def sections(self, file: UserTextFile) -> Iterator[tuple[str, str]]:
        """(split, text) of a plain file, in its order and in chunks."""
        total = self.summaries[file.path].bytes
        train, validation, _ = self._shares_of(file)
        targets = round(total * train), round(total * (train + validation))
        offset = 0
        for chunk in text_files.read_chunks(file.path, limits=self.limits):
            length = len(chunk.encode())
            ends = [_boundary(chunk, target - offset, length) if target < total else None for target in targets]
            limits = [0, *(len(chunk) if end is None else end for end in ends), len(chunk)]
            for split, (first, last) in zip(SPLITS, pairwise(limits), strict=True):
                if text := chunk[first:last]:
                    yield split, text
            offset += length

    def _section(self, file: UserTextFile, split: str) -> Iterator[Document]:
        started = False
        for section_split, text in self.sections(file):
            if section_split == split:
                yield Document(text, continues=started)
                started = True
            elif started:
                return

    def _json_texts(self, file: UserTextFile) -> Iterator[str]:
        for number, line in enumerate(text_files.read_lines(file.path, limits=self.limits), 1):
            if text := json_text(line, file.field, f"{file.original}, line {number},", self.limits):
                yield text

    @property
    def divided_json(self) -> list[UserTextFile]:
        """The files of JSON lines whose documents are assigned to splits one by one."""
        return [file for file in self.files if file.has_json_lines and not file.split]

    @cached_property
    def digest_ranges(self) -> list[tuple[int, int]]:
        """The range of digests that belongs to each split. The ranges give every split its share of distinct documents."""
        # Eight bytes for each document: the only thing in memory that grows with the size of the text.
        digests = array("Q", (_digest(text) for file in self.divided_json for text in self._json_texts(file)))
        unique = np.unique(np.frombuffer(digests, dtype=np.uint64) if digests else np.zeros(0, np.uint64))
        if len(unique) == 0:
            names = ", ".join(str(file.original) for file in self.files)
            problem = f"{names}: no line has any text in the field {self.field!r}"
            raise DataError(problem, remedies=["check the file", Remedy("data.field", "NAME")])
        ends = accumulate(splits.split_sizes(len(unique), *self.shares[1:]))
        boundaries = (int(unique[end]) if end < len(unique) else 1 << 64 for end in ends)
        return list(pairwise((0, *boundaries)))


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


@dataclass(frozen=True)
class ByteRange:
    """A byte range of a file. `split` is empty for JSON lines in which each document has its own split.

    `file` is an index into the source's files. `starts` tells whether a document starts here.
    """

    file: int
    begin: int
    end: int
    split: str = ""
    starts: bool = True


TextPart = tuple[ByteRange, ...]


def cut(source: UserText) -> list[TextPart]:
    """The parts of all files, in order. Reads every file once."""
    parts: list[TextPart] = []
    pieces: list[ByteRange] = []
    size = 0
    for index, file in enumerate(source.files):
        whole = text_files.is_compressed(file.path)
        cut_file = _json_pieces if file.has_json_lines else _text_pieces
        for piece in cut_file(source, index, None if whole else PART_BYTES):
            pieces.append(piece)
            size += piece.end - piece.begin
            if size >= PART_BYTES:
                parts.append(tuple(pieces))
                pieces, size = [], 0
    return [*parts, tuple(pieces)] if pieces else parts


def _text_pieces(source: UserText, index: int, limit: int | None) -> Iterator[ByteRange]:
    end = 0
    for split, sections in groupby(source.sections(source.files[index]), lambda section: section[0]):
        begin, starts = end, True
        for block in split_into_blocks(text for _, text in sections):
            end += len(block.encode())
            if limit and end - begin >= limit:
                yield ByteRange(index, begin, end, split, starts)
                begin, starts = end, False
        if end > begin:
            yield ByteRange(index, begin, end, split, starts)


def _json_pieces(source: UserText, index: int, limit: int | None) -> Iterator[ByteRange]:
    file = source.files[index]
    begin, end, total = 0, 0, source.summaries[file.path].bytes
    for line in text_files.read_lines(file.path, limits=source.limits):
        end = min(end + len(line.encode()) + 1, total)  # The last line may lack its line end.
        if limit and end - begin >= limit:
            yield ByteRange(index, begin, end, file.split)
            begin = end
    if total > begin:
        yield ByteRange(index, begin, total, file.split)


def read_blocks(
    source: UserText, part: TextPart, digest_ranges: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, bool, str]]:
    """(split, whether a document starts here, text) of a part, in blocks whose boundaries do not change the tokens."""
    for piece in part:
        file = source.files[piece.file]
        chunks = text_files.read_range(file.path, piece.begin, piece.end)
        if not file.has_json_lines:
            for index, block in enumerate(split_into_blocks(chunks)):
                yield piece.split, piece.starts and index == 0, block
            continue
        for line in text_files.split_lines(chunks, source.limits, str(file.original)):
            place = f"{file.original}, a line after byte {piece.begin},"
            if text := json_text(line, file.field, place, source.limits):
                split = piece.split or assigned_split(text, digest_ranges)
                for index, block in enumerate(split_into_blocks([text])):
                    yield split, index == 0, block
