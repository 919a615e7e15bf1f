"""A hash table of pieces of text, and the fast path of counting and of encoding, which looks pieces up in it.

Knows nothing of merges or tokens. A slot is four 64-bit words, which is half a cache line: two words for the piece, one for
its length and a 32-bit value of the caller, and one for a 64-bit value of the caller. A short piece is stored inline as its
own key. For a longer piece, the slot holds a hash and the position of its bytes in a byte store, and lookups compare the
bytes. A length of zero means that the slot is empty. Slots are never removed.

Eight bytes of text are read as one 64-bit word, with the first byte in the lowest bits. A loop over single bytes has one
branch for each byte, and the processor mispredicts the branch at the end of every word of text. Here, a few additions find
the end of a sequence of ASCII letters within eight bytes without a branch.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from glasshouse.compilation import kernel, kernel_only
from glasshouse.tokenizers.pretokenizer import APOSTROPHE, NEWLINE, NUMBER, OTHER, SPACE, piece_end

SLOT_WORDS: Final = 4
INLINE_BYTES: Final = 16
"""The longest piece that is stored inline, in bytes."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_NOT_INLINE = np.uint64(0xFFFFFFFFFFFFFFFF)
_HIGH_BITS = np.uint64(0x8080808080808080)
_CASE_BITS = np.uint64(0x2020202020202020)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_TO_REACH_A = np.uint64(0x0101010101010101 * (0x80 - ord("a")))
_TO_PASS_Z = np.uint64(0x0101010101010101 * (0x80 - ord("z") - 1))
_BYTE_INDICES = np.uint64(0x0001020304050607)
_BYTE, _TWO_BYTES, _FOUR_BYTES = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
_FIRST, _SECOND, _SECOND_AND_THIRD = np.uint64(0x80), np.uint64(0x8000), np.uint64(0x808000)
_ZERO, _ONE, _SEVEN, _EIGHT, _SIXTEEN, _THIRTY_TWO, _FIFTY_SIX = (np.uint64(number) for number in (0, 1, 7, 8, 16, 32, 56))


@intrinsic
def load_word(typing_context: Any, text: Any, position: Any) -> Any:
    """The eight bytes from a position on. The position need not be aligned; all eight bytes must be within the text."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, types.int64), generate


@kernel_only
def non_letter_bits(word):
    """A word with the high bit set in every byte that is not an ASCII letter."""
    lower = (word | _CASE_BITS) & _LOW_BITS
    return ~((lower + _TO_REACH_A) & ~(lower + _TO_PASS_Z) & ~word) & _HIGH_BITS


@kernel_only
def lowest_marked_byte(high_bits):
    """The index of the lowest byte whose high bit is set, and a mask of all bytes before it."""
    unit = (high_bits & (~high_bits + _ONE)) >> _SEVEN
    return np.int64(unit * _BYTE_INDICES >> _FIFTY_SIX), unit - _ONE


@kernel_only
def pack_bytes(text, start, end):
    """Up to eight bytes as one word, read one by one. Near the end of a text, `load_word` would read beyond it."""
    word = _ZERO
    for position in range(end - 1, start - 1, -1):
        word = word << _EIGHT | np.uint64(text[position])
    return word


@kernel_only
def piece_key(text, start, end):
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
def hash_piece(first, second, length):
    """A hash whose low bits give the slot at which the search for a piece starts."""
    return (first ^ second * _SECOND_MULTIPLIER ^ length) * _MULTIPLIER >> _THIRTY_TWO


@kernel_only
def find_slot(slots, first, second, text, start, end, store):
    """The index in `slots` of a piece's slot, or of the empty slot in which to insert it."""
    length = np.uint64(end - start)
    mask = np.uint64(len(slots) // SLOT_WORDS - 1)
    place = hash_piece(first, second, length) & mask
    while True:
        slot = np.int64(place) * SLOT_WORDS
        stored = slots[slot + 2] & _FOUR_BYTES
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
def rehash_slots(old, new):
    """Insert all slots of a table into a larger one."""
    mask = np.uint64(len(new) // SLOT_WORDS - 1)
    for slot in range(0, len(old), SLOT_WORDS):
        length = old[slot + 2] & _FOUR_BYTES
        if length > _ZERO:
            place = hash_piece(old[slot], old[slot + 1] if length <= INLINE_BYTES else _NOT_INLINE, length) & mask
            while new[np.int64(place) * SLOT_WORDS + 2] > _ZERO:
                place = (place + _ONE) & mask
            for word in range(SLOT_WORDS):
                new[np.int64(place) * SLOT_WORDS + word] = old[slot + word]


@kernel_only
def process_known_pieces(text, start, stop, classes, is_gpt4, slots, byte_store, id_store, ids, written):
    """Process pieces until one is not in the table. Returns where it starts (or `stop`) and how many ids are written.

    New pieces are left to the caller. `piece_end`, `piece_key` and `find_slot` define what a piece is and where it is; this
    function gives the same results faster. It recognises the most common pieces in one or two 64-bit words: up to 15 ASCII
    letters with or without a leading space, and a single punctuation character after a space. It is one long function
    because a function call for each piece would cost as much as the piece itself.

    In the slot of a known piece, the upper half of the third word is the number of its ids. The fourth word holds one or two
    ids, or the position of its ids in `id_store`. The ids are appended to `ids`. If `ids` is empty, the function counts
    instead: it adds one to the fourth word of each piece.
    """
    mask = np.uint64(len(slots) // SLOT_WORDS - 1)
    counting = len(ids) == 0
    while start < stop:
        end = 0
        first = second = _ZERO
        if start + INLINE_BYTES <= stop:
            first = load_word(text, start)
            ends = non_letter_bits(first)
            character = np.int64(first & _BYTE)
            if ends & _FIRST != _ZERO and ends & _SECOND == _ZERO and character < 0x80:
                # A letter follows this character, and both may belong to one piece. In GPT-2's pattern the character must
                # be a space, in GPT-4's it may be almost any. `piece_end` handles the apostrophe of contractions.
                kind = classes[character]
                if character == SPACE or (is_gpt4 and character != APOSTROPHE and kind != NUMBER and kind != NEWLINE):
                    ends ^= _FIRST
            if ends & _FIRST == _ZERO:
                if ends != _ZERO:
                    length, mask_before = lowest_marked_byte(ends)
                    if (mask_before + _ONE) << _SEVEN & first == _ZERO:  # A byte outside ASCII may belong to a letter.
                        end = start + length
                        first &= mask_before
                else:
                    second = load_word(text, start + 8)
                    ends = non_letter_bits(second)
                    if ends != _ZERO:
                        length, mask_before = lowest_marked_byte(ends)
                        if (mask_before + _ONE) << _SEVEN & second == _ZERO:
                            end = start + 8 + length
                            second &= mask_before
            elif character == SPACE and first & _SECOND_AND_THIRD == _ZERO:
                after = classes[np.int64(first >> _SIXTEEN & _BYTE)]
                if classes[np.int64(first >> _EIGHT & _BYTE)] == OTHER and after != OTHER and after != NEWLINE:
                    end = start + 2
                    first &= _TWO_BYTES
        if end == 0:
            end = piece_end(text, start, stop, classes, is_gpt4)
            first, second = piece_key(text, start, end)
        length = np.uint64(end - start)
        slot = np.int64(hash_piece(first, second, length) & mask) * SLOT_WORDS
        if (slots[slot] ^ first | slots[slot + 1] ^ second | slots[slot + 2] & _FOUR_BYTES ^ length) != _ZERO:
            slot = find_slot(slots, first, second, text, start, end, byte_store)
            if slots[slot + 2] == _ZERO:
                break
        if counting:
            slots[slot + 3] += _ONE
        else:
            count = np.int64(slots[slot + 2] >> _THIRTY_TWO)
            value = slots[slot + 3]
            if count <= 2:
                ids[written] = np.int32(value & _FOUR_BYTES)
                ids[written + 1] = np.int32(value >> _THIRTY_TWO)  # If there is only one id, the next piece overwrites this.
            else:
                offset = np.int64(value)
                for index in range(count):
                    ids[written + index] = id_store[offset + index]
            written += count
        start = end
    return start, written
