"""A hash table from pieces of text to two words of the caller's; knows nothing of what they mean.

A slot is four 64-bit words, half a cache line: two for the piece, one for its length and 32 bits of the caller's, one
wholly the caller's. A piece of up to 16 bytes is its own key. Of a longer one the slot holds a hash and where its bytes
lie in a store, and they are compared. A length of zero marks an empty slot. Nothing is ever removed.
"""

from typing import Final

import numpy as np
from numba import njit

from glasshouse.tokenizers.eight_bytes import gather, load, lowest_byte, not_letters
from glasshouse.tokenizers.splitting import APOSTROPHE, BLANK, NEWLINE, OTHER, SPACE

SLOT: Final = 4
SHORT: Final = 16

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_LENGTH = np.uint64(0xFFFFFFFF)
_EIGHT = np.uint64(8)
_ONE, _SEVEN, _SIXTEEN = np.uint64(1), np.uint64(7), np.uint64(16)
_BYTE, _TWO_BYTES = np.uint64(0xFF), np.uint64(0xFFFF)
_FIRST, _SECOND, _SECOND_AND_THIRD = np.uint64(0x80), np.uint64(0x8000), np.uint64(0x808000)
_THIRTY_TWO = np.uint64(32)
_ZERO = np.uint64(0)


@njit(cache=True, nogil=True, inline="always")
def quick_piece(text, start, classes, fourth):  # type: ignore[no-untyped-def]
    """The length and key of the piece at `start` if it is one of the most common kinds; otherwise length 0.

    They are: up to 16 ASCII letters with or without what may precede them, and one sign after a space. There must be 16
    bytes from `start` on. This only saves time: `piece_end` and `piece_key` give the same, as they do for all pieces.
    """
    word = load(text, start)
    ends = not_letters(word)
    sign = np.int64(word & _BYTE)
    if ends & _FIRST:
        leads = sign == SPACE or (
            fourth and sign < 0x80 and sign != APOSTROPHE and (classes[sign] == OTHER or classes[sign] == BLANK)
        )
        if leads and not ends & _SECOND:
            ends ^= _FIRST
        elif sign == SPACE and word & _SECOND_AND_THIRD == _ZERO:
            after = classes[np.int64(word >> _SIXTEEN & _BYTE)]
            if classes[np.int64(word >> _EIGHT & _BYTE)] == OTHER and after != OTHER and after != NEWLINE:
                return 2, word & _TWO_BYTES, _ZERO
            return 0, _ZERO, _ZERO
        else:
            return 0, _ZERO, _ZERO
    if ends:
        length, mask = lowest_byte(ends)
        if (mask + _ONE) << _SEVEN & word:
            return 0, _ZERO, _ZERO  # A byte beyond ASCII follows: it may be a letter.
        return length, word & mask, _ZERO
    rest = load(text, start + 8)
    ends = not_letters(rest)
    if ends:
        length, mask = lowest_byte(ends)
        if not (mask + _ONE) << _SEVEN & rest:
            return 8 + length, word, rest & mask
    return 0, _ZERO, _ZERO


@njit(cache=True, nogil=True)
def piece_key(text, start, end):  # type: ignore[no-untyped-def]
    """The two words that stand for a piece: its bytes, or for a long one a hash and nothing."""
    length = end - start
    if length <= 8:
        return gather(text, start, end), _ZERO
    if length <= SHORT:
        return gather(text, start, start + 8), gather(text, start + 8, end)
    digest = _ZERO
    position = start
    while position + 8 <= end:
        digest = (digest ^ gather(text, position, position + 8)) * _MULTIPLIER
        digest ^= digest >> _THIRTY_TWO
        position += 8
    return (digest ^ gather(text, position, end)) * _MULTIPLIER, _ZERO


@njit(cache=True, nogil=True)
def home(first, second, length):  # type: ignore[no-untyped-def]
    """A number whose low bits say where the search for a piece begins."""
    return (first ^ second * _SECOND_MULTIPLIER ^ length) * _MULTIPLIER >> _THIRTY_TWO


@njit(cache=True, nogil=True)
def find_slot(slots, first, second, text, start, end, store):  # type: ignore[no-untyped-def]
    """Where in `slots` a piece's slot begins; if the table lacks it, the empty slot where it belongs."""
    length = np.uint64(end - start)
    mask = np.uint64(len(slots) // SLOT - 1)
    place = home(first, second, length) & mask
    while True:
        slot = np.int64(place) * SLOT
        stored = slots[slot + 2] & _LENGTH
        if stored == _ZERO:
            return slot
        if stored == length and slots[slot] == first:
            if length <= SHORT:
                if slots[slot + 1] == second:
                    return slot
            else:
                offset = np.int64(slots[slot + 1])
                same = True
                for index in range(end - start):
                    if store[offset + index] != text[start + index]:
                        same = False
                        break
                if same:
                    return slot
        place = (place + np.uint64(1)) & mask
