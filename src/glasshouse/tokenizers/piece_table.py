"""A hash table from pieces of text to two words of the caller's; knows nothing of merges or tokens.

A slot is four 64-bit words, half a cache line: two for the piece, one for its length and 32 bits of the caller's, one
wholly the caller's. A piece of up to 16 bytes is its own key. Of a longer one the slot holds a hash and where its bytes
lie in a store, and they are compared. A length of zero marks an empty slot. Nothing is ever removed.
"""

from typing import Final

import numpy as np

from glasshouse.tokenizers.byte_words import gather
from glasshouse.tokenizers.compilation import kernel, part

SLOT: Final = 4
SHORT: Final = 16

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_LENGTH = np.uint64(0xFFFFFFFF)
_THIRTY_TWO = np.uint64(32)
_LONG = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@part
def piece_key(text, start, end):  # type: ignore[no-untyped-def]
    """The two words that stand for a piece: its bytes; for a long one a hash, which alone proves nothing, and a mark."""
    length = end - start
    if length <= 8:
        return gather(text, start, end), _ZERO
    if length <= SHORT:
        return gather(text, start, start + 8), gather(text, start + 8, end)
    digest = _ZERO
    for position in range(start, end, 8):
        digest = (digest ^ gather(text, position, min(position + 8, end))) * _MULTIPLIER
        digest ^= digest >> _THIRTY_TWO
    return digest, _LONG


@part
def home(first, second, length):  # type: ignore[no-untyped-def]
    """A number whose low bits say where the search for a piece begins."""
    return (first ^ second * _SECOND_MULTIPLIER ^ length) * _MULTIPLIER >> _THIRTY_TWO


@part
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
            same = True
            if length <= SHORT:
                same = slots[slot + 1] == second
            else:
                offset = np.int64(slots[slot + 1])
                for index in range(end - start):
                    if store[offset + index] != text[start + index]:
                        same = False
                        break
            if same:
                return slot
        place = (place + _ONE) & mask


@kernel
def move_slots(old, new):  # type: ignore[no-untyped-def]
    """Put the slots of one table into another, larger one."""
    mask = np.uint64(len(new) // SLOT - 1)
    for slot in range(0, len(old), SLOT):
        length = old[slot + 2] & _LENGTH
        if length > _ZERO:
            place = home(old[slot], old[slot + 1] if length <= SHORT else _LONG, length) & mask
            while new[np.int64(place) * SLOT + 2] > _ZERO:
                place = (place + _ONE) & mask
            for word in range(SLOT):
                new[np.int64(place) * SLOT + word] = old[slot + word]
