"""The user's own text cut into parts of bounded size, which can be encoded separately and in any order.

A part is a list of pieces: byte ranges of files. A plain file is cut between the blocks in which `shards.write` encodes it,
so the tokens of the parts are those of the whole text. A JSON-lines file is cut at line ends. A compressed file can only
be read from its start, so it is not cut.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from glasshouse.data import text_files
from glasshouse.data.user_files.text import UserText, assigned_split, is_json_lines, json_text
from glasshouse.tokenizers.safe_boundaries import split_into_blocks

PART_BYTES = 1 << 24


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
    for index, path in enumerate(source.files):
        whole = text_files.is_compressed(path)
        cut_file = _json_pieces if is_json_lines(path) else _text_pieces
        for piece in cut_file(source, index, None if whole else PART_BYTES):
            pieces.append(piece)
            size += piece.end - piece.begin
            if size >= PART_BYTES:
                parts.append(tuple(pieces))
                pieces, size = [], 0
    return [*parts, tuple(pieces)] if pieces else parts


def most_parts(files: Sequence[Path]) -> int:
    """At most how many parts files have, without reading them."""
    # A compressed file is one part, or one for each of the three splits if these are large.
    plain = sum(path.stat().st_size for path in files if not text_files.is_compressed(path))
    return plain // PART_BYTES + 1 + 3 * sum(map(text_files.is_compressed, files))


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
    path = source.files[index]
    split = source.own_split.get(path, "")
    begin, end, total = 0, 0, source.summaries[path].bytes
    for line in text_files.read_lines(path, limits=source.limits):
        end = min(end + len(line.encode()) + 1, total)  # The last line may lack its line end.
        if limit and end - begin >= limit:
            yield ByteRange(index, begin, end, split)
            begin = end
    if total > begin:
        yield ByteRange(index, begin, total, split)


def read_blocks(
    source: UserText, part: TextPart, digest_ranges: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, bool, str]]:
    """(split, whether a document starts here, text) of a part, in blocks whose boundaries do not change the tokens."""
    for piece in part:
        path = source.files[piece.file]
        chunks = text_files.read_range(path, piece.begin, piece.end)
        if not is_json_lines(path):
            for index, block in enumerate(split_into_blocks(chunks)):
                yield piece.split, piece.starts and index == 0, block
            continue
        for line in text_files.split_lines(chunks, source.limits, str(source.original(path))):
            place = f"{source.original(path)}, a line after byte {piece.begin},"
            if text := json_text(line, source.field_of(path), place, source.limits):
                split = piece.split or assigned_split(text, digest_ranges)
                for index, block in enumerate(split_into_blocks([text])):
                    yield split, index == 0, block
