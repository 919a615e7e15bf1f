"""Text files as a stream: plain, gzip or Zstandard, checked to be text, in chunks of bounded size.

Text is UTF-8 unless the user names another encoding, or a byte order mark does. An encoding that is guessed is only proposed
to the user. Knows nothing of splits or tokens.
"""

import codecs
import gzip
import hashlib
import io
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, cast

from glasshouse.data import read_limits
from glasshouse.data.read_limits import ReadLimits
from glasshouse.records import plain_files
from glasshouse.specs.errors import DataError, Remedy

# Large enough that the Python overhead per chunk is negligible, small enough that memory use stays constant.
CHUNK_BYTES = 1 << 20
COMPRESSED = (".gz", ".zst")
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
# The first bytes of compressed files.
GZIP = b"\x1f\x8b"
ZSTANDARD = b"\x28\xb5\x2f\xfd"

UTF_8 = "utf-8"
# A byte order mark and the encoding of what follows. That of UTF-32 begins like that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LONGEST_MARK = 4
# Western punctuation and signs that are not ASCII.
_SIGNS = frozenset("’‘“”„–—…•€£§°«»¡¿·´²³½¼®©™\u00a0")
_KANA = ("HIRAGANA", "KATAKANA LETTER", "KATAKANA-HIRAGANA")


@dataclass(frozen=True)
class FileSummary:
    bytes: int
    digest: str


def summarise(
    path: Path,
    encoding: str = "",
    limits: ReadLimits = read_limits.DEFAULT,
    progress: Callable[[int], None] = lambda done: None,
) -> FileSummary:
    """Read the whole file once. Raises an error if it is missing, empty, binary or in another encoding.

    `progress` gets the bytes that were read so far.
    """
    digest = hashlib.blake2b(digest_size=16)
    total = 0
    for chunk in read_chunks(path, encoding, limits):
        raw = chunk.encode()
        digest.update(raw)
        total += len(raw)
        progress(total)
    _refuse_empty(path, total)
    return FileSummary(total, digest.hexdigest())


def raw_digest(path: Path) -> str:
    """A digest of a file as it is stored, whatever it contains."""
    with open_raw(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def check_beginning(path: Path) -> None:
    """Refuse a file that is missing, empty or not text. Only its beginning is read."""
    _refuse_empty(path, len(next(read_chunks(path), "")))


def _refuse_empty(path: Path, size: int) -> None:
    if not size:
        raise DataError(f"{path} is empty; choose a file that contains text")


def read_chunks(path: Path, encoding: str = "", limits: ReadLimits = read_limits.DEFAULT) -> Iterator[str]:
    """The text of a file in chunks. A chunk may end anywhere between two characters."""
    offset = 0
    with open_raw(path) as stored, _decompressed(path, stored) as file:
        while True:
            try:
                raw = file.read(CHUNK_BYTES if offset else max(CHUNK_BYTES, LONGEST_MARK))
            except (EOFError, zlib.error, OSError) as error:
                raise DataError(f"{path} is a damaged or incomplete compressed file ({error}); compress it again") from None
            if file is not stored:
                limits.check_expansion(path, stored.tell(), offset + len(raw))
            if offset == 0:
                found = encoding_of(raw, encoding)
                decoder = codecs.getincrementaldecoder(found)()
            if not found.startswith(("utf-16", "utf-32")):
                _refuse_binary(path, raw, offset)
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                problem = f"is not {found.upper()} text: byte {offset - pending + error.start} cannot be decoded"
                raise _unknown_encoding(path, problem, guessed_encoding(error.object), encoding) from None
            if offset == 0:
                text = text.removeprefix("\ufeff")
            offset += len(raw)
            if text:
                yield text
            if not raw:
                return


def is_recoded(path: Path, encoding: str = "") -> bool:
    """Whether a file is text in another encoding than UTF-8, or compressed so that no range of it can be read."""
    if not path.is_file():
        return False
    with open_raw(path) as stored, _decompressed(path, stored) as file:
        try:
            beginning = file.read(LONGEST_MARK)
        except (EOFError, zlib.error, OSError):
            return False
        return not file.seekable() or encoding_of(beginning, encoding) != UTF_8


def _unknown_encoding(path: Path, problem: str, guess: str, named: str = "") -> DataError:
    """The error for a file that is not text in the expected encoding. `guess` is what it probably is, or empty."""
    known = Remedy("data.encoding", "latin-1", "set the encoding if you know it, as in")
    if guess and guess != named:
        known = Remedy("data.encoding", guess, f"it looks like {guess}, which is a guess: set")
    return DataError(f"{path} {problem}", remedies=[known, "save it as UTF-8"])


def read_range(path: Path, begin: int, end: int) -> Iterator[str]:
    """The text between two byte positions, which must be between characters. A byte order mark does not count.

    A plain file is read from `begin` on. A gzip file must be decompressed from its start.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_raw(path) as stored, _decompressed(path, stored) as file:
        mark = len(codecs.BOM_UTF8) if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else 0
        file.seek(mark + begin)
        left = end - begin
        while left > 0 and (raw := file.read(min(left, CHUNK_BYTES))):
            left -= len(raw)
            yield decoder.decode(raw)


def is_compressed(path: Path) -> bool:
    """Whether a file can only be read from its start."""
    with open_raw(path) as file:
        return file.read(4).startswith(GZIP)


def suffix(path: Path) -> str:
    """The ending of a file's name that says what it contains, in small letters; that of its compression does not count."""
    endings = [ending for ending in path.suffixes if ending.lower() not in COMPRESSED]
    return endings[-1].lower() if endings else ""


def read_lines(path: Path, encoding: str = "", limits: ReadLimits = read_limits.DEFAULT) -> Iterator[str]:
    yield from split_lines(read_chunks(path, encoding, limits), limits, str(path))


def read_whole(path: Path, encoding: str, limits: ReadLimits, limit: str, amount: int = 1) -> str:
    """The text of a file. Each of its characters counts as so much of the limit of this name."""
    chunks: list[str] = []
    length = 0
    for chunk in read_chunks(path, encoding, limits):
        chunks.append(chunk)
        length += len(chunk)
        limits.check(limit, length * amount, path)
    return "".join(chunks)


def read_parallel_lines(
    source: Path, target: Path, *, encoding: str = "", limits: ReadLimits = read_limits.DEFAULT
) -> list[tuple[str, str]]:
    """The pairs of two files: line n of one with line n of the other. Both must have the same number of lines."""
    sides = [
        [line for (line,) in limits.kept(((line.strip(),) for line in read_lines(path, encoding, limits)), path)]
        for path in (source, target)
    ]
    if len(sides[0]) != len(sides[1]):
        found = f"{source} has {len(sides[0])} lines and {target} has {len(sides[1])}"
        raise DataError(f"{found}, but line n of both is a pair; correct them, or put the pairs into one .tsv file")
    return list(zip(*sides, strict=True))


def split_lines(chunks: Iterable[str], limits: ReadLimits = read_limits.DEFAULT, name: str = "the text") -> Iterator[str]:
    """The lines of a text in chunks, without line endings. `name` is that of the text in errors."""
    begun: list[str] = []  # a line that has no end yet
    length = count = 0
    for chunk in chunks:
        first, *others = chunk.split("\n")
        begun.append(first)
        length += len(first)
        if others:
            limits.check("line", length, f"{name}, line {count + 1},")
            yield "".join(begun)
            yield from others[:-1]
            count += len(others)
            begun, length = others[-1:], len(others[-1])
        limits.check("line", length, f"{name}, line {count + 1},")
    if length:
        yield "".join(begun)


def refuse_spreadsheet(path: Path) -> None:
    """Refuse the files of spreadsheet programs, and say how to save them as text."""
    if path.suffix.lower() in SPREADSHEETS:
        raise DataError(
            f"{path} is a spreadsheet; save it as {path.stem}.csv (in Excel or LibreOffice: File, Save as, CSV UTF-8; in "
            f"Python: pandas.read_excel({path.name!r}).to_csv('{path.stem}.csv', index=False))"
        )


def open_raw(path: Path) -> io.BufferedReader:
    refuse_spreadsheet(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file; name the files in it")
    try:
        return plain_files.open_to_read(path)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}; check the path") from None


def _decompressed(path: Path, file: io.BufferedReader) -> IO[bytes]:
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if magic != ZSTANDARD:
        return file
    try:
        import pyarrow
    except ImportError:
        raise DataError(f"{path} needs pyarrow; pip install 'glasshouse[formats]', or decompress the file") from None
    # The reader of the package zstandard does not notice a missing end.
    return cast(IO[bytes], pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd"))


def _refuse_binary(path: Path, raw: bytes, offset: int) -> None:
    if b"\x00" not in raw:
        return
    if guess := guessed_encoding(raw):
        raise _unknown_encoding(path, f"is not UTF-8 text: byte {offset + raw.index(0)} is zero", guess)
    raise DataError(f"{path} is a binary file: byte {offset + raw.index(0)} is zero; choose a file of text or JSON lines")


def _codec(name: str) -> str:
    """The codec of an encoding. Raises DataError if there is none."""
    try:
        codec = codecs.lookup(name)
        "".encode(codec.name)  # refuses codecs that are not for text
        return codec.name
    except LookupError:
        known = "utf-8, utf-16, latin-1, cp1252, shift_jis, euc_jp, gb18030 or cp1251"
        raise DataError(f"is no encoding of text; use one such as {known}", "data.encoding", name) from None


def encoding_of(raw: bytes, named: str = "") -> str:
    """The encoding of a file that begins with these bytes: that of its byte order mark, the named one, or UTF-8."""
    marked = next((encoding for mark, encoding in MARKS if raw.startswith(mark)), None)
    return marked or (_codec(named) if named else UTF_8)


def guessed_encoding(raw: bytes) -> str:
    """The encoding that bytes which are not UTF-8 probably have; empty if none is likely."""
    if raw.count(0) > len(raw) / 5:
        return _utf_16(raw)
    if _is_damaged_utf_8(raw):
        return ""
    return next((encoding for encoding, is_likely in _CANDIDATES.items() if _decodes(raw, encoding, is_likely)), "")


def _utf_16(raw: bytes) -> str:
    """UTF-16 without a byte order mark: one byte of each pair is mostly zero."""
    little = raw[1::2].count(0) > raw[::2].count(0)
    encoding = "utf-16-le" if little else "utf-16-be"
    text = raw.decode(encoding, "replace")
    readable = sum(character.isalnum() or character.isspace() for character in text)
    return encoding if readable > 0.7 * len(text) else ""


def _is_damaged_utf_8(raw: bytes) -> bool:
    """Whether the bytes are UTF-8 except for a few, such as those of a last character that is cut off."""
    text = raw.decode(UTF_8, "replace")
    wrong = text.count("\ufffd")
    return (wrong <= 1 and text.endswith("\ufffd")) or sum(character > "\x7f" for character in text) > 6 * wrong


def _decodes(raw: bytes, encoding: str, is_likely: Callable[[str, list[str]], bool]) -> bool:
    try:
        # The last character may be cut off.
        text = codecs.getincrementaldecoder(encoding)().decode(raw)
    except UnicodeDecodeError:
        return False
    foreign = [character for character in text if character > "\x7f"]
    return bool(foreign) and "\0" not in text and is_likely(text, foreign)


def _is_japanese(text: str, foreign: list[str]) -> bool:
    kana = sum(unicodedata.name(character, "").startswith(_KANA) for character in foreign)
    return kana >= 0.15 * len(foreign)


def _is_cyrillic(text: str, foreign: list[str]) -> bool:
    letters = [character for character in foreign if character.isalpha()]
    small = sum("а" <= character <= "я" or character == "ё" for character in letters)
    # Cyrillic letters stand beside each other, and most are small.
    pairs = [first.isascii() != second.isascii() for first, second in pairwise(text) if (first + second).isalpha()]
    return len(letters) > 0.9 * len(foreign) and small > 0.7 * len(letters) and sum(pairs) < 0.1 * len(pairs)


def _is_chinese(text: str, foreign: list[str]) -> bool:
    """Whether most characters are among the 3,755 most frequent ones, which GB 2312 has in its first rows."""
    frequent = sum(0xB0 <= code[0] <= 0xD7 and code[1] >= 0xA1 for code in (one.encode("gb18030") for one in foreign))
    return frequent > 0.6 * len(foreign)


def _is_western(text: str, foreign: list[str]) -> bool:
    letters = sum(character.isalpha() for character in text)
    accented = [character for character in foreign if character.isalpha()]
    known = sum(character in _SIGNS for character in foreign) + len(accented)
    return known > 0.9 * len(foreign) and len(accented) < 0.3 * max(letters, 1)


_CANDIDATES = {
    "shift_jis": _is_japanese,
    "euc_jp": _is_japanese,
    "cp1251": _is_cyrillic,
    "gb18030": _is_chinese,
    "cp1252": _is_western,
}
