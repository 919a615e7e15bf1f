"""Character encodings of the user's files: byte order marks, names, and a guess at what is not UTF-8.

A guess is only proposed to the user. Nothing is read with it unless the user names it.
"""

import codecs
import unicodedata

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
_KANA = ("HIRAGANA", "KATAKANA LETTER", "KATAKANA-HIRAGANA")
# Encoding -> how the names of its characters begin, their smallest share of the characters that are not ASCII, and the
# smallest and the largest share of the letters that are not ASCII.
_CANDIDATES = {
    "shift_jis": (_KANA, 0.15, 0.0, 1.0),
    "euc_jp": (_KANA, 0.15, 0.0, 1.0),
    "cp1251": ("CYRILLIC SMALL", 0.6, 0.2, 1.0),
    "gb18030": ("CJK", 0.6, 0.2, 1.0),
    "cp1252": ("", 0.0, 0.0, 0.3),
}


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
        # In UTF-16 without a byte order mark, one byte of each pair is mostly zero.
        encoding = "utf-16-le" if raw[1::2].count(0) > raw[::2].count(0) else "utf-16-be"
        text = raw.decode(encoding, "replace")
        readable = sum(character.isalnum() or character.isspace() for character in text)
        return encoding if readable > 0.7 * len(text) else ""
    text = raw.decode(UTF_8, "replace")
    wrong = text.count("\ufffd")
    # UTF-8 except for a few bytes, such as those of a last character that is cut off.
    if (wrong <= 1 and text.endswith("\ufffd")) or sum(character > "\x7f" for character in text) > 6 * wrong:
        return ""
    return next((encoding for encoding in _CANDIDATES if _is_likely(raw, encoding)), "")


def _is_likely(raw: bytes, encoding: str) -> bool:
    """Whether bytes decode to the characters that are usual in an encoding."""
    try:
        # The last character may be cut off.
        text = codecs.getincrementaldecoder(encoding)().decode(raw)
    except UnicodeDecodeError:
        return False
    names, share, fewest_letters, most_letters = _CANDIDATES[encoding]
    foreign = [character for character in text if character > "\x7f"]
    usual = sum(unicodedata.name(character, "").startswith(names) for character in foreign)
    foreign_letters = sum(map(str.isalpha, foreign)) / max(sum(map(str.isalpha, text)), 1)
    is_usual = bool(foreign) and "\0" not in text and usual >= share * len(foreign)
    return is_usual and fewest_letters <= foreign_letters <= most_letters
