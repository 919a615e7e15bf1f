"""Words as LaTeX sets them: what it would take for something else is escaped. Needs no package; knows nothing of tables."""

import re
import unicodedata
from typing import Final

from glasshouse import formatting

# Characters that LaTeX would take for something else. A bracket or a star after the end of a row is an option of it.
ESCAPES: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "*": "{*}",
    '"': "''",
    "`": r"\`{}",
    "−": "$-$",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "‘": "{`}",
    "’": "'",
    "“": "{``}",
    "”": "''",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "µ": r"$\mu$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "°": r"$^{\circ}$",
    "…": r"\ldots{}",
}
# Letters beyond ASCII that LaTeX's first encoding has: these, and those of the blocks Latin-1 and Latin Extended-A that are
# an ASCII letter with one of these marks.
LETTERS: Final = "ßæøœłıÆØŒŁ"
MARKS: Final = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327"
POWER = re.compile("×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
SUPERSCRIPT = {chr(written): chr(plain) for plain, written in formatting.SUPERSCRIPTS.items()}
# A hyphen before a number that nothing stands before: "(-1.8 %)", but not "3e-4" or "2024-05".
NEGATIVE = re.compile(r"(?<![^\s(=\[])-(?=\.?\d)")
# A path or a setting has no place where a line may end: in words that are longer than this, one is offered at each of these.
LONG, BREAKS = 16, re.compile(r"(?<=[/\\_=,:])(?=\w)")


def escape(words: str) -> str:
    """The words on one line; a character that needs another font than the usual one is written U+4E2D."""
    plain = NEGATIVE.sub("−", unicodedata.normalize("NFC", one_line(words)))
    written = [_power(part) if place % 2 else _escape(part) for place, part in enumerate(POWER.split(plain))]
    return "".join(written)


def one_line(words: str) -> str:
    """Without line breaks and other characters that do not print: they would end a row or stop a compiler."""
    return " ".join("".join(character if character.isprintable() else " " for character in words).split())


def _power(exponent: str) -> str:
    return f"$\\times10^{{{''.join(SUPERSCRIPT[digit] for digit in exponent)}}}$"


def _escape(words: str) -> str:
    written = " ".join(map(_word, words.split(" ")))
    # Two hyphens would become a dash.
    return re.sub("-(?=-)", "-{}", written)


def _word(word: str) -> str:
    parts = BREAKS.split(word) if len(word) > LONG else [word]
    return r"\allowbreak{}".join("".join(map(_character, part)) for part in parts)


def _character(character: str) -> str:
    if character in ESCAPES or character.isascii():
        return ESCAPES.get(character, character)
    apart = unicodedata.normalize("NFD", character)
    marked = character < "\u0180" and len(apart) == 2 and apart[0].isascii() and apart[1] in MARKS
    return character if marked or character in LETTERS else f"U+{ord(character):04X}\\allowbreak{{}}"
