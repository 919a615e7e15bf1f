"""Character encodings of the user's files: byte order marks, names, and a guess at what is not UTF-8.

A guess is only proposed to the user. Nothing is read with it unless the user names it.
"""

import codecs
import unicodedata
from collections.abc import Callable
from itertools import pairwise

from glasshouse.specs.errors import DataError

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


def checked(name: str) -> str:
    """The codec of an encoding. Raises DataError if there is none."""
    try:
        codec = codecs.lookup(name)
        "".encode(codec.name)  # refuses codecs that are not for text
        return codec.name
    except LookupError:
        known = "utf-8, utf-16, latin-1, cp1252, shift_jis, euc_jp, gb18030 or cp1251"
        raise DataError(f"is no encoding of text; use one such as {known}", "data.encoding", name) from None


def of_beginning(raw: bytes, named: str = "") -> str:
    """The encoding of a file that begins with these bytes: that of its byte order mark, the named one, or UTF-8."""
    marked = next((encoding for mark, encoding in MARKS if raw.startswith(mark)), None)
    return marked or (checked(named) if named else UTF_8)


def guess(raw: bytes) -> str:
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
