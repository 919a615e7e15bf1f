"""Text to ids for one vocabulary of byte pairs; knows nothing of special tokens, files or how merges were learned.

Text repeats itself: most pieces have been merged before. Each new piece is merged once and its ids kept in a table, so that
encoding is splitting and looking up. The table is bounded; when it is full it is emptied, and what is common comes back.
"""

from typing import Final

import numpy as np
from numba import njit

from glasshouse.tokenizers.merging import SCRATCH, merge_piece
from glasshouse.tokenizers.piece_table import SHORT as SHORT_KEY
from glasshouse.tokenizers.piece_table import SLOT, find_slot, piece_key
from glasshouse.tokenizers.splitting import machine_classes, piece_end

LONGEST_KEPT: Final = 256
"""Longer pieces, in bytes, are merged each time: they seldom come twice."""

FEWEST_SLOTS: Final = 1 << 12
MOST_SLOTS: Final = 1 << 18
"""At most half of the slots are used. A slot takes 32 bytes, and the bytes and ids of longer pieces about as much."""

USED, STORED, SPANNED, WRITTEN = 0, 1, 2, 3

_THIRTY_TWO = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_LENGTH = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def encode_pieces(text, start, stop, classes, fourth, slots, store, spans, merges, byte_ids, scratch, state, ids):  # type: ignore[no-untyped-def]
    """Append the ids of text[start:stop] to `ids`; returns where it stopped: before the end if some memory ran out."""
    written = state[WRITTEN]
    while start < stop:
        end = piece_end(text, start, stop, classes, fourth)
        length = end - start
        if length > LONGEST_KEPT:
            if length * SCRATCH > len(scratch):
                break
            count = merge_piece(text, start, end, byte_ids, merges, scratch)
            for index in range(count):
                ids[written + index] = np.int32(scratch[index])
            written += count
            start = end
            continue
        first, second = piece_key(text, start, end)
        slot = find_slot(slots, first, second, text, start, end, store)
        if slots[slot + 2] == 0:
            if (
                state[USED] * 2 * SLOT >= len(slots)
                or max(state[STORED] + length - len(store), state[SPANNED] + length - len(spans)) > 0
            ):
                break
            count = merge_piece(text, start, end, byte_ids, merges, scratch)
            if length > SHORT_KEY:
                second = np.uint64(state[STORED])
                store[state[STORED] : state[STORED] + length] = text[start:end]
                state[STORED] += length
            slots[slot] = first
            slots[slot + 1] = second
            slots[slot + 2] = np.uint64(length) | np.uint64(count) << _THIRTY_TWO
            if count <= 2:
                slots[slot + 3] = scratch[0] | scratch[1] << _THIRTY_TWO
            else:
                slots[slot + 3] = np.uint64(state[SPANNED])
                for index in range(count):
                    spans[state[SPANNED] + index] = np.int32(scratch[index])
                state[SPANNED] += count
            state[USED] += 1
        count = np.int64(slots[slot + 2] >> _THIRTY_TWO)
        found = slots[slot + 3]
        if count == 1:
            ids[written] = np.int32(found & _LOW)
        elif count == 2:
            ids[written] = np.int32(found & _LOW)
            ids[written + 1] = np.int32(found >> _THIRTY_TWO)
        else:
            offset = np.int64(found)
            for index in range(count):
                ids[written + index] = spans[offset + index]
        written += count
        start = end
    state[WRITTEN] = written
    return start


class PieceEncoder:
    """The encoder and its table of pieces seen. One thread at a time may use it."""

    def __init__(self, byte_ids: np.ndarray, merges: np.ndarray, pattern: str) -> None:
        self.byte_ids = byte_ids
        self.merges = merges
        self.fourth = pattern == "gpt-4"
        self.classes = machine_classes()
        self.scratch = np.empty(LONGEST_KEPT * SCRATCH, np.uint64)
        self.state = np.zeros(4, np.int64)
        self._empty(FEWEST_SLOTS)

    def _empty(self, slots: int) -> None:
        self.slots = np.zeros(slots * SLOT, np.uint64)
        self.store = np.empty(slots * 8, np.uint8)
        self.spans = np.empty(slots * 2, np.int32)
        self.state[:] = 0

    def encode(self, text: bytes) -> np.ndarray:
        """The ids of a text in UTF-8."""
        length = len(text)
        ids = np.empty(length, np.int32)
        view = np.frombuffer(text, np.uint8)
        state = self.state
        state[WRITTEN] = 0
        start = 0
        while True:
            start = encode_pieces(
                view, start, length, self.classes, self.fourth, self.slots, self.store, self.spans,
                self.merges, self.byte_ids, self.scratch, state, ids,
            )  # fmt: skip
            if start == length:
                break
            self._make_room(view, start)
        ids.resize(int(state[WRITTEN]), refcheck=False)
        return ids

    def _make_room(self, text: np.ndarray, start: int) -> None:
        """Room for the piece that starts here: more working memory if it is long, else a larger or an emptied table."""
        written = self.state[WRITTEN]
        longest = piece_end(text, start, len(text), self.classes, self.fourth) - start
        if longest > LONGEST_KEPT:
            self.scratch = np.empty(longest * SCRATCH, np.uint64)
        else:
            self._empty(min(len(self.slots) // SLOT * 4, MOST_SLOTS))
        self.state[WRITTEN] = written
