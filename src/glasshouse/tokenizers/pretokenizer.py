"""Where a text is cut into pieces before byte pairs are merged; knows nothing of merges, ids or files.

The GPT-2 and GPT-4 patterns are usually run by a regular-expression engine, and most of an encoder's time goes there.
Here each is a small machine over UTF-8 bytes: a look at the class of one code point, seldom of two, decides which
alternative of the pattern applies, and a run of one class is then followed to its end. The patterns stay here as the
definition.
"""

import functools
from typing import Final

import numpy as np

from glasshouse.tokenizers.compilation import kernel, part
from glasshouse.tokenizers.unicode_classes import LETTER as LETTER_BIT
from glasshouse.tokenizers.unicode_classes import NUMBER as NUMBER_BIT
from glasshouse.tokenizers.unicode_classes import WHITESPACE as WHITESPACE_BIT
from glasshouse.tokenizers.unicode_classes import class_bits

PATTERNS: Final = {
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt-4": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
}

# Typed numbers, as in the other kernels: of a function that is given a plain one, the compiler makes one more version.
OTHER, LETTER, NUMBER, BLANK, NEWLINE = (np.int64(kind) for kind in range(5))
"""The classes the machine tells apart; a blank is any whitespace but carriage return and line feed."""

SPACE, APOSTROPHE, LINE_FEED, CARRIAGE_RETURN = (np.int64(ord(sign)) for sign in " '\n\r")
_D, _E, _L, _M, _R, _S, _T, _V = (np.int64(ord(letter)) for letter in "delmrstv")
_NO_LIMIT = np.int64(0x7FFFFFFFFFFFFFFF)


@functools.cache
def machine_classes() -> np.ndarray:
    """The machine's class of every code point, one byte each."""
    bits = class_bits()
    table = np.full(len(bits), OTHER, np.uint8)
    table[bits & LETTER_BIT != 0] = LETTER
    table[bits & NUMBER_BIT != 0] = NUMBER
    table[bits & WHITESPACE_BIT != 0] = BLANK
    table[[ord("\r"), ord("\n")]] = NEWLINE
    return table


@part
def class_at(text, position, classes):  # type: ignore[no-untyped-def]
    """The class of the code point that starts at a position, and how many bytes it takes."""
    first = np.int64(text[position])
    if first < 0x80:
        return np.int64(classes[first]), 1
    second = np.int64(text[position + 1]) & 0x3F
    if first < 0xE0:
        return np.int64(classes[(first & 0x1F) << 6 | second]), 2
    third = np.int64(text[position + 2]) & 0x3F
    if first < 0xF0:
        return np.int64(classes[(first & 0x0F) << 12 | second << 6 | third]), 3
    fourth = np.int64(text[position + 3]) & 0x3F
    return np.int64(classes[(first & 0x07) << 18 | second << 12 | third << 6 | fourth]), 4


@part
def run_end(text, position, stop, classes, kind, longest):  # type: ignore[no-untyped-def]
    """The end of the run of at most `longest` code points of one class."""
    while position < stop and longest > 0:
        found, width = class_at(text, position, classes)
        if found != kind:
            break
        position += width
        longest -= 1
    return position


@part
def contraction_end(text, position, stop, either_case):  # type: ignore[no-untyped-def]
    """The end of 's 't 're 've 'm 'll 'd whose apostrophe is at a position, or 0."""
    if position + 1 >= stop:
        return 0
    lower = 0x20 if either_case else 0
    first = np.int64(text[position + 1]) | lower
    if first == _S or first == _T or first == _M or first == _D:
        return position + 2
    if position + 2 >= stop:
        return 0
    second = np.int64(text[position + 2])
    if either_case and text[position + 1] == 0xC5 and second == 0xBF:
        return position + 3  # U+017F, the long s: the one letter outside ASCII whose lower case is among these.
    second |= lower
    if second == _E and first != _R and first != _V:
        return 0
    if second == _E or (first == _L and second == _L):
        return position + 3
    return 0


@part
def whitespace_end(text, start, stop, classes, newlines_first):  # type: ignore[no-untyped-def]
    r"""The end of the piece that starts with whitespace which no following sign takes with it.

    `\s*[\r\n]+` (GPT-4 only) ends after the run's last newline; `\s+(?!\S)` leaves the last blank to what follows.
    """
    position, last, after_newline = start, start, 0
    while position < stop:
        kind, width = class_at(text, position, classes)
        if kind != BLANK and kind != NEWLINE:
            break
        last = position
        position += width
        if kind == NEWLINE:
            after_newline = position
    if newlines_first and after_newline > 0:
        return after_newline
    if position < stop and last > start:
        return last
    return position


@kernel
def piece_end(text, start, stop, classes, fourth):  # type: ignore[no-untyped-def]
    """The end of the piece that starts at `start`; `fourth` chooses the GPT-4 pattern, else it is GPT-2's."""
    sign = np.int64(text[start])
    kind, width = class_at(text, start, classes)
    after = start + width
    longest = 2 if fourth and kind == NUMBER else _NO_LIMIT
    if kind != LETTER and kind != NUMBER:
        if sign == APOSTROPHE:
            end = contraction_end(text, start, stop, fourth)
            if end > 0:
                return end
        following = BLANK
        if after < stop:
            following = class_at(text, after, classes)[0]
        if following == LETTER and (sign == SPACE or (fourth and kind != NEWLINE)):
            kind = LETTER
        elif sign == SPACE and (following == OTHER or (following == NUMBER and not fourth)):
            kind = following
        elif kind != OTHER:
            return whitespace_end(text, start, stop, classes, fourth)
    end = run_end(text, after, stop, classes, kind, longest)
    if fourth and kind == OTHER:
        while end < stop and (text[end] == LINE_FEED or text[end] == CARRIAGE_RETURN):
            end += 1
    return end
