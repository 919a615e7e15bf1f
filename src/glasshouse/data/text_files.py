"""Text files as a stream: plain or gzip, checked to be UTF-8 text, in chunks of bounded size.

Knows nothing of splits or tokens.
"""

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from glasshouse.specs.errors import DataError

# Large enough that the Python overhead per chunk is negligible, small enough that memory use stays constant.
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class FileSummary:
    """The decompressed size of a file, and a digest of its content."""

    bytes: int
    digest: str


def summarise(path: Path) -> FileSummary:
    """Read the whole file once. Raises an error if it is missing, empty, binary or not UTF-8."""
    digest = hashlib.blake2b(digest_size=16)
    total = 0
    for chunk in read_chunks(path):
        raw = chunk.encode()
        digest.update(raw)
        total += len(raw)
    if total == 0:
        raise _empty(path)
    return FileSummary(total, digest.hexdigest())


def check_beginning(path: Path) -> None:
    """Refuse a file that is missing, empty or not text. Only its beginning is read."""
    if next(read_chunks(path), None) is None:
        raise _empty(path)


def read_chunks(path: Path) -> Iterator[str]:
    """The text of a file in chunks. A chunk may end anywhere between two characters."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    with _open(path) as file:
        while True:
            try:
                raw = file.read(CHUNK_BYTES)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise DataError(
                    "damaged-gzip", f"{path} is a damaged or incomplete gzip file ({error}); compress it again"
                ) from None
            _refuse_binary(path, raw, offset)
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                raise DataError(
                    "not-utf-8",
                    f"{path} is not UTF-8 text: byte {offset - pending + error.start} cannot be decoded; "
                    f"convert it, for example with: iconv -f latin1 -t utf-8 {path.name} > {path.stem}.utf8.txt",
                ) from None
            if offset == 0:
                text = text.removeprefix("\ufeff")
            offset += len(raw)
            if text:
                yield text
            if not raw:
                return


def read_range(path: Path, begin: int, end: int) -> Iterator[str]:
    """The text between two byte positions, which must be between characters. A byte order mark does not count.

    A plain file is read from `begin` on. A gzip file must be decompressed from its start.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _open(path) as file:
        mark = len(codecs.BOM_UTF8) if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else 0
        file.seek(mark + begin)
        left = end - begin
        while left > 0 and (raw := file.read(min(left, CHUNK_BYTES))):
            left -= len(raw)
            yield decoder.decode(raw)


def is_gzip(path: Path) -> bool:
    """Whether a file is compressed, so that it can only be read from its start."""
    with _open(path) as file:
        return isinstance(file, gzip.GzipFile)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, without line endings."""
    yield from split_lines(read_chunks(path))


def split_lines(chunks: Iterable[str]) -> Iterator[str]:
    """The lines of a text in chunks, without line endings."""
    rest = ""
    for chunk in chunks:
        rest += chunk
        *complete, rest = rest.split("\n")
        yield from complete
    if rest:
        yield rest


def _empty(path: Path) -> DataError:
    return DataError("empty-file", f"{path} is empty; choose a file that contains text")


def _open(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise DataError(
            "folder-not-file",
            f"{path} is a folder, not a file; list the files in it, for example data.files=[{path}/a.txt,{path}/b.txt]",
        )
    try:
        file = open(path, "rb")  # noqa: SIM115 (the caller closes it)
    except OSError as error:
        raise DataError("unreadable-file", f"cannot read {path}: {error.strerror or error}; check the path") from None
    magic = file.read(2)
    file.seek(0)
    return cast(IO[bytes], gzip.GzipFile(fileobj=file) if magic == b"\x1f\x8b" else file)


def _refuse_binary(path: Path, raw: bytes, offset: int) -> None:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") and offset == 0:
        raise DataError(
            "not-utf-8",
            f"{path} is UTF-16 text, not UTF-8; convert it, for example with: "
            f"iconv -f utf-16 -t utf-8 {path.name} > new.txt",
        )
    if b"\x00" in raw:
        raise DataError(
            "binary-file",
            f"{path} is a binary file: byte {offset + raw.index(0)} is zero; choose a file of plain text, "
            "gzip-compressed text or JSON lines",
        )
