"""Pre-tokenization for byte-pair encoding: splitting text into pieces. Knows nothing of merges, ids or files.

A piece is one match of the GPT-2 or the GPT-4 pattern; no token crosses a piece boundary. These patterns are usually run by
a regular-expression engine, which takes most of an encoder's time. Here, each is a small state machine over UTF-8 bytes: the
class of one code point, sometimes of two, determines which alternative of the pattern applies, and the piece then extends
over all following code points of the same class. `piece_patterns` has the patterns, which are the definition.
"""

import functools

import numpy as np

from glasshouse.compilation import kernel, kernel_only
from glasshouse.tokenizers.piece_patterns import LETTER as LETTER_BIT
from glasshouse.tokenizers.piece_patterns import NUMBER as NUMBER_BIT
from glasshouse.tokenizers.piece_patterns import WHITESPACE as WHITESPACE_BIT
from glasshouse.tokenizers.piece_patterns import class_bits

# These are typed numbers, as in the other kernels. For plain integers, numba would compile another version of a function.
OTHER, LETTER, NUMBER, BLANK, NEWLINE = (np.int64(kind) for kind in range(5))
"""The classes of code points. A blank is any whitespace except carriage return and line feed."""

SPACE, APOSTROPHE, LINE_FEED, CARRIAGE_RETURN = (np.int64(ord(character)) for character in " '\n\r")
_D, _E, _L, _M, _R, _S, _T, _V = (np.int64(ord(letter)) for letter in "delmrstv")
_NO_LIMIT = np.int64(0x7FFFFFFFFFFFFFFF)


@functools.cache
def character_classes() -> np.ndarray:
    """The class of every code point, one byte each."""
    bits = class_bits()
    table = np.full(len(bits), OTHER, np.uint8)
    table[bits & LETTER_BIT != 0] = LETTER
    table[bits & NUMBER_BIT != 0] = NUMBER
    table[bits & WHITESPACE_BIT != 0] = BLANK
    table[[ord("\r"), ord("\n")]] = NEWLINE
    return table


@kernel_only
def class_at(text, position, classes):
    """The class of the code point at a position, and its length in bytes."""
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


@kernel_only
def same_class_end(text, position, stop, classes, kind, longest):
    """The end of a sequence of at most `longest` code points of the class `kind`."""
    while position < stop and longest > 0:
        current, width = class_at(text, position, classes)
        if current != kind:
            break
        position += width
        longest -= 1
    return position


@kernel_only
def contraction_end(text, position, stop, either_case):
    """The end of a contraction ('s 't 're 've 'm 'll 'd) whose apostrophe is at a position; 0 if there is none."""
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
        return (
            position + 3
        )  # U+017F, the long s, is the only letter outside ASCII that matches one of these case-insensitively.
    second |= lower
    if second == _E and first != _R and first != _V:
        return 0
    if second == _E or (first == _L and second == _L):
        return position + 3
    return 0


@kernel_only
def whitespace_end(text, start, stop, classes, newlines_first):
    r"""The end of a piece that consists of whitespace.

    `\s*[\r\n]+` (only GPT-4) ends after the last newline; `\s+(?!\S)` leaves the last blank to the next piece.
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
def piece_end(text, start, stop, classes, is_gpt4):
    """The end of the piece that starts at `start`. `is_gpt4` selects the GPT-4 pattern instead of the GPT-2 pattern."""
    character = np.int64(text[start])
    kind, width = class_at(text, start, classes)
    after = start + width
    longest = 2 if is_gpt4 and kind == NUMBER else _NO_LIMIT
    if kind != LETTER and kind != NUMBER:
        if character == APOSTROPHE:
            end = contraction_end(text, start, stop, is_gpt4)
            if end > 0:
                return end
        following = BLANK
        if after < stop:
            following = class_at(text, after, classes)[0]
        if following == LETTER and (character == SPACE or (is_gpt4 and kind != NEWLINE)):
            kind = LETTER
        elif character == SPACE and (following == OTHER or (following == NUMBER and not is_gpt4)):
            kind = following
        elif kind != OTHER:
            return whitespace_end(text, start, stop, classes, is_gpt4)
    end = same_class_end(text, after, stop, classes, kind, longest)
    if is_gpt4 and kind == OTHER:
        while end < stop and (text[end] == LINE_FEED or text[end] == CARRIAGE_RETURN):
            end += 1
    return end
