"""The patterns that split text into pieces, splitting with Python's regular expressions, and the class of every code point.

A piece is one match of a pattern; no token crosses a piece boundary. The patterns are the definition. The compiled splitter
(`pretokenizer`) is tested against them. Knows nothing of merges.

Python's own tables of classes change with its version, which would change where a text is split. The tables here are fixed.
They were read from the `tokenizers` package (0.23) by testing `\\p{L}`, `\\p{N}`, `\\s` and `\\w` on every code point, and a
test compares them with the package. `unicode_classes.txt` has them run-length encoded: `33.` means 33 code points of class
`.`, `L` means one letter.
"""

import functools
import re
from importlib.resources import files
from typing import Final

import numpy as np

PATTERNS: Final = {
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt-4": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
}

LETTER, NUMBER, WHITESPACE, WORD = 1, 2, 4, 8
"""The bits of a class. WORD is what `\\w` matches: all letters, most numbers, combining marks and underscores."""

CODE_POINTS = 0x110000

_BITS = {".": 0, "L": LETTER | WORD, "D": NUMBER | WORD, "N": NUMBER, "S": WHITESPACE, "W": WORD}


@functools.cache
def class_bits() -> np.ndarray:
    """The class bits of every code point, one byte each, as a read-only array. It is computed once and then shared."""
    encoded = (files("glasshouse.tokenizers") / "unicode_classes.txt").read_text(encoding="ascii")
    runs = re.findall(r"(\d*)([.LDNSW])", encoded)
    lengths = [int(length or 1) for length, _ in runs]
    table = np.repeat(np.array([_BITS[letter] for _, letter in runs], np.uint8), lengths)
    table.flags.writeable = False
    return table


def members(bit: int, code_points: int = CODE_POINTS) -> str:
    """The inside of a regular-expression character class that matches exactly the code points with this bit.

    `code_points` leaves out all from there on.
    """
    padded = np.concatenate(([0], (class_bits()[:code_points] & bit != 0).view(np.uint8), [0])).astype(np.int8)
    edges = np.flatnonzero(np.diff(padded)).reshape(-1, 2)
    return "".join(f"\\U{first:08x}-\\U{after - 1:08x}" for first, after in edges.tolist())


def split(text: str, pattern: str) -> list[str]:
    return _expression(pattern, 128 if text.isascii() else CODE_POINTS).findall(text)


@functools.cache
def _expression(pattern: str, code_points: int) -> re.Pattern[str]:
    """A pattern in Python's syntax, which has no `\\p{L}`, for texts of the first so many code points.

    Most texts that people type are in ASCII, and that expression compiles in a tenth of the time.
    """
    letters, numbers, blanks = (members(bit, code_points) for bit in (LETTER, NUMBER, WHITESPACE))
    classes = {r"\p{L}": letters, r"\p{N}": numbers, r"\s": blanks}
    translated, in_brackets = "", False
    for token in re.findall(r"\\p\{[LN]\}|\\.|.", PATTERNS[pattern]):
        if token in classes:
            translated += classes[token] if in_brackets else f"[{classes[token]}]"
        elif token == r"\S":
            translated += f"[^{blanks}]"
        else:
            in_brackets = token == "[" or (in_brackets and token != "]")
            translated += token
    return re.compile(translated)
