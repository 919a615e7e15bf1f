"""The fast path of counting and of encoding: it processes pieces for as long as the hash table contains them.

New pieces are left to the caller. `piece_end`, `piece_key` and `find_slot` define what a piece is and where it is stored;
this function gives the same results faster. It recognises the most common pieces in one or two 64-bit words: up to 15 ASCII
letters with or without a leading space, and a single punctuation character after a space. It is one long function because
a function call for each piece would cost as much as the piece itself.
"""

import numpy as np

from glasshouse.compilation import kernel_only
from glasshouse.tokenizers.byte_words import load_word, lowest_marked_byte, non_letter_bits
from glasshouse.tokenizers.piece_table import INLINE_BYTES, SLOT_WORDS, find_slot, hash_piece, piece_key
from glasshouse.tokenizers.pretokenizer import APOSTROPHE, NEWLINE, NUMBER, OTHER, SPACE, piece_end

_ZERO, _ONE, _SEVEN, _EIGHT, _SIXTEEN, _THIRTY_TWO = (np.uint64(number) for number in (0, 1, 7, 8, 16, 32))
_BYTE, _TWO_BYTES, _FOUR_BYTES = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
_FIRST, _SECOND, _SECOND_AND_THIRD = np.uint64(0x80), np.uint64(0x8000), np.uint64(0x808000)


@kernel_only
def process_known_pieces(  # type: ignore[no-untyped-def]
    text, start, stop, classes, is_gpt4, slots, byte_store, id_store, ids, written
):
    """Process pieces until one is not in the table. Returns where it starts (or `stop`) and how many ids are written.

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
