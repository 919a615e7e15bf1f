"""A hash table of pieces of text, with room for two values of the caller in each slot. Knows nothing of merges or tokens.

A slot is four 64-bit words, which is half a cache line: two words for the piece, one for its length and a 32-bit value of
the caller, and one for a 64-bit value of the caller. A short piece is stored inline as its own key. For a longer piece, the
slot holds a hash and the position of its bytes in a byte store, and lookups compare the bytes. A length of zero means that
the slot is empty. Slots are never removed.
"""

from typing import Final

import numpy as np

from glasshouse.compilation import kernel, kernel_only
from glasshouse.tokenizers.byte_words import pack_bytes

SLOT_WORDS: Final = 4
INLINE_BYTES: Final = 16
"""The longest piece that is stored inline, in bytes."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_LENGTH_MASK = np.uint64(0xFFFFFFFF)
_THIRTY_TWO = np.uint64(32)
_NOT_INLINE = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@kernel_only
def piece_key(text, start, end):  # type: ignore[no-untyped-def]
    """The two words that identify a piece: its bytes if it is stored inline, or else a hash and a marker.

    Different long pieces may have the same hash.
    """
    length = end - start
    if length <= 8:
        return pack_bytes(text, start, end), _ZERO
    if length <= INLINE_BYTES:
        return pack_bytes(text, start, start + 8), pack_bytes(text, start + 8, end)
    digest = _ZERO
    for position in range(start, end, 8):
        digest = (digest ^ pack_bytes(text, position, min(position + 8, end))) * _MULTIPLIER
        digest ^= digest >> _THIRTY_TWO
    return digest, _NOT_INLINE


@kernel_only
def hash_piece(first, second, length):  # type: ignore[no-untyped-def]
    """A hash whose low bits give the slot at which the search for a piece starts."""
    return (first ^ second * _SECOND_MULTIPLIER ^ length) * _MULTIPLIER >> _THIRTY_TWO


@kernel_only
def find_slot(slots, first, second, text, start, end, store):  # type: ignore[no-untyped-def]
    """The index in `slots` of a piece's slot, or of the empty slot in which to insert it."""
    length = np.uint64(end - start)
    mask = np.uint64(len(slots) // SLOT_WORDS - 1)
    place = hash_piece(first, second, length) & mask
    while True:
        slot = np.int64(place) * SLOT_WORDS
        stored = slots[slot + 2] & _LENGTH_MASK
        if stored == _ZERO:
            return slot
        if stored == length and slots[slot] == first:
            same = True
            if length <= INLINE_BYTES:
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
def rehash_slots(old, new):  # type: ignore[no-untyped-def]
    """Insert all slots of a table into a larger one."""
    mask = np.uint64(len(new) // SLOT_WORDS - 1)
    for slot in range(0, len(old), SLOT_WORDS):
        length = old[slot + 2] & _LENGTH_MASK
        if length > _ZERO:
            place = hash_piece(old[slot], old[slot + 1] if length <= INLINE_BYTES else _NOT_INLINE, length) & mask
            while new[np.int64(place) * SLOT_WORDS + 2] > _ZERO:
                place = (place + _ONE) & mask
            for word in range(SLOT_WORDS):
                new[np.int64(place) * SLOT_WORDS + word] = old[slot + word]
