"""The patterns that split text into pieces, and splitting with Python's regular expressions. Knows nothing of merges.

A piece is one match of a pattern; no token crosses a piece boundary. The patterns are the definition. The compiled splitter
(`pretokenizer`) is tested against them.
"""

import functools
import re
from typing import Final

from glasshouse.tokenizers.unicode_classes import CODE_POINTS, LETTER, NUMBER, WHITESPACE, members

PATTERNS: Final = {
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt-4": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
}

ASCII: Final = 0x80


def split(text: str, pattern: str) -> list[str]:
    return _expression(pattern, ASCII if text.isascii() else CODE_POINTS).findall(text)


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
