"""The fast path of counting and of encoding: from piece to piece for as long as the table knows them.

It knows nothing of what to do with a new piece, and decides nothing: `piece_end`, `piece_key` and `find_slot` define
what a piece is and where it is found. The commonest kinds, up to 15 ASCII letters with or without a space before them
and a single sign after a space, are recognised here from one or two words of eight bytes. It is one long function
because a call for each piece would cost as much as the piece.
"""

import numpy as np

from glasshouse.tokenizers.byte_words import load, lowest_byte, not_letters
from glasshouse.tokenizers.compilation import part
from glasshouse.tokenizers.piece_table import SHORT, SLOT, find_slot, home, piece_key
from glasshouse.tokenizers.pretokenizer import APOSTROPHE, NEWLINE, NUMBER, OTHER, SPACE, piece_end

_ZERO, _ONE, _SEVEN, _EIGHT, _SIXTEEN, _THIRTY_TWO = (np.uint64(number) for number in (0, 1, 7, 8, 16, 32))
_BYTE, _TWO_BYTES, _FOUR_BYTES = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
_FIRST, _SECOND, _SECOND_AND_THIRD = np.uint64(0x80), np.uint64(0x8000), np.uint64(0x808000)


@part
def follow_known(text, start, stop, classes, fourth, slots, store, spans, ids, written):  # type: ignore[no-untyped-def]
    """Go on until a piece is not in the table; returns where it starts (or `stop`) and how many ids are written.

    A known piece's third word holds how many ids it has, above its length; the fourth holds one or two ids, or where
    they begin in `spans`. They are appended to `ids`. If `ids` is empty, nothing is written and the fourth word counts.
    """
    mask = np.uint64(len(slots) // SLOT - 1)
    counting = len(ids) == 0
    while start < stop:
        end = 0
        first = second = _ZERO
        if start + SHORT <= stop:
            first = load(text, start)
            ends = not_letters(first)
            sign = np.int64(first & _BYTE)
            if ends & _FIRST != _ZERO and ends & _SECOND == _ZERO and sign < 0x80:
                # A letter follows, and this sign may lead it: in GPT-2's pattern a space, in GPT-4's almost any sign.
                # An apostrophe is left to `piece_end`: it may begin a contraction.
                kind = classes[sign]
                if sign == SPACE or (fourth and sign != APOSTROPHE and kind != NUMBER and kind != NEWLINE):
                    ends ^= _FIRST
            if ends & _FIRST == _ZERO:
                if ends != _ZERO:
                    length, mask_before = lowest_byte(ends)
                    if (mask_before + _ONE) << _SEVEN & first == _ZERO:  # Beyond ASCII, what follows may be a letter.
                        end = start + length
                        first &= mask_before
                else:
                    second = load(text, start + 8)
                    ends = not_letters(second)
                    if ends != _ZERO:
                        length, mask_before = lowest_byte(ends)
                        if (mask_before + _ONE) << _SEVEN & second == _ZERO:
                            end = start + 8 + length
                            second &= mask_before
            elif sign == SPACE and first & _SECOND_AND_THIRD == _ZERO:
                after = classes[np.int64(first >> _SIXTEEN & _BYTE)]
                if classes[np.int64(first >> _EIGHT & _BYTE)] == OTHER and after != OTHER and after != NEWLINE:
                    end = start + 2
                    first &= _TWO_BYTES
        if end == 0:
            end = piece_end(text, start, stop, classes, fourth)
            first, second = piece_key(text, start, end)
        length = np.uint64(end - start)
        slot = np.int64(home(first, second, length) & mask) * SLOT
        if (slots[slot] ^ first | slots[slot + 1] ^ second | slots[slot + 2] & _FOUR_BYTES ^ length) != _ZERO:
            slot = find_slot(slots, first, second, text, start, end, store)
            if slots[slot + 2] == _ZERO:
                break
        if counting:
            slots[slot + 3] += _ONE
        else:
            count = np.int64(slots[slot + 2] >> _THIRTY_TWO)
            found = slots[slot + 3]
            if count <= 2:
                ids[written] = np.int32(found & _FOUR_BYTES)
                ids[written + 1] = np.int32(found >> _THIRTY_TWO)  # If there is only one, the next piece overwrites this.
            else:
                offset = np.int64(found)
                for index in range(count):
                    ids[written + index] = spans[offset + index]
            written += count
        start = end
    return start, written
