"""Escapes text for LaTeX. The result needs no LaTeX package. Knows nothing of tables."""

import re
import unicodedata
from typing import Final

from glasshouse import formatting

# Characters with a meaning in LaTeX, and symbols that need a command. A bracket or a star at the start of a row would be
# read as an option of the line break before it.
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
# Letters beyond ASCII that LaTeX's default font encoding (OT1) can set: these, and an ASCII letter with one of these
# accents from the blocks Latin-1 and Latin Extended-A.
LETTERS: Final = "ßæøœłıÆØŒŁ"
ACCENTS: Final = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327"
POWER = re.compile("×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
SUPERSCRIPT = {chr(raised): chr(plain) for plain, raised in formatting.SUPERSCRIPTS.items()}
# A hyphen that is a minus sign: "(-1.8 %)", but not "3e-4" or "2024-05".
NEGATIVE = re.compile(r"(?<![^\s(=\[])-(?=\.?\d)")
# A path or a setting contains no space at which a line may break. Words longer than this may break after these characters.
LONG_WORD, BREAKS = 16, re.compile(r"(?<=[/\\_=,:])(?=\w)")


def escape(text: str) -> str:
    """Escape text and put it on one line; a character that the default font lacks becomes its code point, U+4E2D."""
    plain = NEGATIVE.sub("−", unicodedata.normalize("NFC", one_line(text)))
    # POWER has one group, so every second part of the split is an exponent.
    parts = [_power(part) if index % 2 else _escape(part) for index, part in enumerate(POWER.split(plain))]
    return "".join(parts)


def one_line(text: str) -> str:
    """Replace line breaks and other unprintable characters by spaces: they would end a table row or stop the compiler."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _power(exponent: str) -> str:
    return f"$\\times10^{{{''.join(SUPERSCRIPT[digit] for digit in exponent)}}}$"


def _escape(text: str) -> str:
    escaped = " ".join(map(_word, text.split(" ")))
    # LaTeX would set two hyphens as a dash.
    return re.sub("-(?=-)", "-{}", escaped)


def _word(word: str) -> str:
    parts = BREAKS.split(word) if len(word) > LONG_WORD else [word]
    return r"\allowbreak{}".join("".join(map(_character, part)) for part in parts)


def _character(character: str) -> str:
    if character in ESCAPES or character.isascii():
        return ESCAPES.get(character, character)
    decomposed = unicodedata.normalize("NFD", character)
    accented = character < "\u0180" and len(decomposed) == 2 and decomposed[0].isascii() and decomposed[1] in ACCENTS
    return character if accented or character in LETTERS else f"U+{ord(character):04X}\\allowbreak{{}}"
