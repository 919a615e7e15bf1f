"""The class of every Unicode code point for the split patterns. Knows nothing of patterns, bytes or tokens.

Python's own tables change with its version, which would change where a text is split. The tables here are fixed. They were
read from the `tokenizers` package (0.23) by testing `\\p{L}`, `\\p{N}`, `\\s` and `\\w` on every code point, and a test
compares them with the package. `unicode_classes.txt` has them run-length encoded: `33.` means 33 code points of class `.`,
`L` means one letter.
"""

import functools
import re
from importlib.resources import files

import numpy as np

LETTER, NUMBER, WHITESPACE, WORD = 1, 2, 4, 8
"""The bits of a class. WORD is what `\\w` matches: all letters, most numbers, combining marks and underscores."""

CODE_POINTS = 0x110000

_BITS = {".": 0, "L": LETTER | WORD, "D": NUMBER | WORD, "N": NUMBER, "S": WHITESPACE, "W": WORD}


@functools.cache
def class_bits() -> np.ndarray:
    """The class bits of every code point, one byte each, as a read-only array. It is computed once and then shared."""
    encoded = (files(__package__) / "unicode_classes.txt").read_text(encoding="ascii")
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
