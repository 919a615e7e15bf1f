"""Text files as a stream: plain, gzip or Zstandard, checked to be UTF-8 text, in chunks of bounded size.

Knows nothing of splits or tokens.
"""

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from glasshouse.specs.errors import DataError

# Large enough that the Python overhead per chunk is negligible, small enough that memory use stays constant.
CHUNK_BYTES = 1 << 20
COMPRESSED = (".gz", ".zst")
# The first bytes of compressed files.
GZIP = b"\x1f\x8b"
ZSTANDARD = b"\x28\xb5\x2f\xfd"


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


def raw_digest(path: Path) -> str:
    """A digest of a file as it is stored, whatever it contains."""
    with _open_raw(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


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
                    "damaged-gzip", f"{path} is a damaged or incomplete compressed file ({error}); compress it again"
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


def is_compressed(path: Path) -> bool:
    """Whether a file can only be read from its start."""
    with _open_raw(path) as file:
        return file.read(4).startswith((GZIP, ZSTANDARD))


def suffix(path: Path) -> str:
    """The ending of a file's name that says what it contains, in small letters; that of its compression does not count."""
    endings = [ending for ending in path.suffixes if ending.lower() not in COMPRESSED]
    return endings[-1].lower() if endings else ""


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, without line endings."""
    yield from split_lines(read_chunks(path))


def read_parallel_lines(source: Path, target: Path) -> list[tuple[str, str]]:
    """The pairs of two files: line n of one with line n of the other. Both must have the same number of lines."""
    sides = [[line.strip() for line in read_lines(path)] for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            "unequal-line-counts",
            f"{source} has {len(sides[0])} lines and {target} has {len(sides[1])}, but line n of one must belong to "
            "line n of the other; correct the files, or put the pairs into one .tsv file",
        )
    return list(zip(*sides, strict=True))


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


def _open_raw(path: Path) -> io.BufferedReader:
    """A file as it is stored."""
    if path.is_dir():
        raise DataError(
            "folder-not-file",
            f"{path} is a folder, not a file; list the files in it, for example data.files=[{path}/a.txt,{path}/b.txt]",
        )
    try:
        return open(path, "rb")
    except OSError as error:
        raise DataError("unreadable-file", f"cannot read {path}: {error.strerror or error}; check the path") from None


def _open(path: Path) -> IO[bytes]:
    """A file, decompressed."""
    file = _open_raw(path)
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    return _decompressed(path, file) if magic == ZSTANDARD else file


def _decompressed(path: Path, file: IO[bytes]) -> IO[bytes]:
    """A file in the format of Zstandard."""
    try:
        import zstandard
    except ImportError:
        file.close()
        raise DataError(
            "missing-package",
            f"{path} needs zstandard to be read; install it with: pip install 'glasshouse[formats]', or decompress the file",
        ) from None
    return cast(IO[bytes], _ZstandardFile(file, zstandard.ZstdDecompressor()))


class _ZstandardFile(io.RawIOBase):
    """The content of a file in the format of Zstandard. The reader of the package does not notice a missing end."""

    def __init__(self, file: IO[bytes], decompressor: Any) -> None:
        self.file, self.decompressor = file, decompressor
        self._rewind()

    def _rewind(self) -> None:
        self.file.seek(0)
        self.frame, self.buffer, self.position = self.decompressor.decompressobj(), b"", 0

    def read(self, size: int = -1) -> bytes:
        while (size < 0 or len(self.buffer) < size) and (raw := self.file.read(CHUNK_BYTES)):
            try:
                self.buffer += self.frame.decompress(raw)
                while self.frame.eof and (rest := self.frame.unused_data):
                    self.frame = self.decompressor.decompressobj()
                    self.buffer += self.frame.decompress(rest)
            except Exception as error:  # the package is imported only where it is needed, and its error class with it
                raise zlib.error(str(error)) from None
        if not self.buffer and not self.frame.eof:
            raise EOFError("its end is missing")
        taken = self.buffer if size < 0 else self.buffer[:size]
        self.buffer = self.buffer[len(taken) :]
        self.position += len(taken)
        return taken

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a position, counted from the start. The content before it is read."""
        if offset < self.position:
            self._rewind()
        while (left := offset - self.position) > 0 and self.read(min(left, CHUNK_BYTES)):
            pass
        return self.position

    def close(self) -> None:
        self.file.close()
        super().close()


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
