"""Encoding of text for one byte-pair vocabulary. Knows nothing of special tokens, files or training.

Text is repetitive: most pieces have occurred before. A new piece is merged once, and its ids are stored in a hash table, so
encoding consists mostly of splitting and looking up. The table has a maximum size. When it is full it is emptied, and common
pieces soon return.

Each array argument of a compiled function costs as much time as encoding twenty bytes, and a line of text is short. So the
addresses and lengths of the arrays are in an int64 table, the state, and only this table is passed.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numba import carray

from glasshouse.compilation import kernel, kernel_only, pointer
from glasshouse.tokenizers.byte_pair_merging import WORK_WORDS, merge_piece
from glasshouse.tokenizers.piece_table import (
    INLINE_BYTES,
    SLOT_WORDS,
    find_slot,
    piece_key,
    process_known_pieces,
    rehash_slots,
)
from glasshouse.tokenizers.pretokenizer import character_classes, piece_end

MAX_CACHED_BYTES: Final = 256
"""Longer pieces are not stored in the table but merged each time, since they rarely repeat."""

MIN_SLOTS: Final = 1 << 12
MAX_SLOTS: Final = 1 << 18
"""At most half of the slots are used. A slot takes 32 bytes, plus 64 bytes in the stores for long pieces and for ids."""

SMALL_TEXT_BYTES: Final = 1 << 14
"""Texts up to this size are encoded into a reused buffer, since allocating memory costs more than a copy."""

CLASSES, SLOTS, BYTE_STORE, ID_STORE, MERGES, BYTE_IDS, WORKING, IDS = (np.int64(entry) for entry in range(8))
IS_GPT4, SLOTS_USED, BYTES_STORED, IDS_STORED, IDS_WRITTEN = (np.int64(entry) for entry in range(16, 21))
"""The entries of the encoder's state: first the addresses of arrays, two words each, then single numbers."""

_THIRTY_TWO = np.uint64(32)


@kernel_only
def array_at(state, entry, dtype):
    return carray(pointer(state[2 * entry]), (state[2 * entry + 1],), dtype)


@kernel_only
def store_piece(text, start, end, slots, byte_store, id_store, work, count, state):
    """Store a piece in the table together with its ids, which are at the front of `work`."""
    length = end - start
    first, second = piece_key(text, start, end)
    slot = find_slot(slots, first, second, text, start, end, byte_store)
    if length > INLINE_BYTES:
        second = np.uint64(state[BYTES_STORED])
        for position in range(start, end):
            byte_store[state[BYTES_STORED]] = text[position]
            state[BYTES_STORED] += 1
    slots[slot] = first
    slots[slot + 1] = second
    slots[slot + 2] = np.uint64(length) | np.uint64(count) << _THIRTY_TWO
    if count <= 2:
        slots[slot + 3] = work[0] | work[1] << _THIRTY_TWO
    else:
        slots[slot + 3] = np.uint64(state[IDS_STORED])
        for index in range(count):
            id_store[state[IDS_STORED]] = np.int32(work[index])
            state[IDS_STORED] += 1
    state[SLOTS_USED] += 1


@kernel_only
def encode_span(text, state, start, stop):
    """Encode text[start:stop]. Returns the total number of ids so far, or ~position if it stopped there for lack of room."""
    classes, slots = array_at(state, CLASSES, np.uint8), array_at(state, SLOTS, np.uint64)
    byte_store, id_store = array_at(state, BYTE_STORE, np.uint8), array_at(state, ID_STORE, np.int32)
    merges, byte_ids = array_at(state, MERGES, np.uint64), array_at(state, BYTE_IDS, np.int32)
    work, ids = array_at(state, WORKING, np.uint64), array_at(state, IDS, np.int32)
    is_gpt4, written = state[IS_GPT4] != 0, state[IDS_WRITTEN]
    while True:
        start, written = process_known_pieces(text, start, stop, classes, is_gpt4, slots, byte_store, id_store, ids, written)
        if start == stop:
            return written
        end = piece_end(text, start, stop, classes, is_gpt4)
        length = end - start
        if length > MAX_CACHED_BYTES:
            if length * WORK_WORDS > len(work):
                break
        elif (
            state[SLOTS_USED] * 2 * SLOT_WORDS >= len(slots)
            or state[BYTES_STORED] + length > len(byte_store)
            or state[IDS_STORED] + length > len(id_store)
        ):
            break
        count = merge_piece(text, start, end, byte_ids, merges, work)
        if length > MAX_CACHED_BYTES:
            for index in range(count):
                ids[written + index] = np.int32(work[index])
            written += count
            start = end
        else:
            store_piece(text, start, end, slots, byte_store, id_store, work, count, state)
    state[IDS_WRITTEN] = written
    return ~start


@kernel
def encode_text(text, state, start):
    """Encode from `start` to the end. Returns the same as `encode_span`."""
    return encode_span(text, state, start, len(text))


@kernel
def encode_texts(text, state, start, stops, counts, index):
    """Encode concatenated texts, starting with the text at `index`. Returns the same as `encode_span`.

    `stops` holds the end of each text. `counts` receives the total number of ids after each text.
    """
    while index < len(stops):
        count = encode_span(text, state, start, stops[index])
        if count < 0:
            return count
        state[IDS_WRITTEN] = counts[index] = count
        start = stops[index]
        index += 1
    return state[IDS_WRITTEN]


class PieceEncoder:
    """The encoder with its table of known pieces. Only one thread at a time may use it."""

    def __init__(self, byte_ids: np.ndarray, merges: np.ndarray, pattern: str) -> None:
        self._state = np.zeros(int(IDS_WRITTEN) + 1, np.int64)
        self._state[IS_GPT4] = pattern == "gpt-4"
        self._arrays: dict[np.int64, np.ndarray] = {}
        self._ids = np.empty(SMALL_TEXT_BYTES + 1, np.int32)
        self._set_array(CLASSES, character_classes())
        self._set_array(BYTE_IDS, byte_ids)
        self._set_array(MERGES, merges)
        self._set_array(WORKING, np.empty(MAX_CACHED_BYTES * WORK_WORDS, np.uint64))
        self._set_array(IDS, self._ids)
        self._reset_table(MIN_SLOTS)

    def encode(self, text: bytes) -> np.ndarray:
        if len(text) > SMALL_TEXT_BYTES:
            return self.encode_batch([text])[0]
        start = 0
        while (count := encode_text(text, self._state, start)) < 0:
            start = ~count
            self._make_room(text, start, len(text))
        self._state[IDS_WRITTEN] = 0
        return self._ids[:count].copy()

    def encode_batch(self, texts: Sequence[bytes]) -> list[np.ndarray]:
        """The ids of each text. All texts are encoded in one call, since for short texts the call takes most of the time."""
        joined = b"".join(texts)
        stops = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        counts = np.zeros(len(texts), np.int64)
        # A byte gives at most one id. The extra entry is needed because ids are written in pairs.
        ids = np.empty(len(joined) + 1, np.int32)
        self._set_array(IDS, ids)
        try:
            start = index = 0
            while (count := encode_texts(joined, self._state, start, stops, counts, index)) < 0:
                start = ~count
                index = int(np.searchsorted(stops, start, side="right"))
                self._make_room(joined, start, int(stops[index]))
        finally:
            self._state[IDS_WRITTEN] = 0
            self._set_array(IDS, self._ids)
        ids.resize(count, refcheck=False)
        ends = counts.tolist()
        return [ids[first:last] for first, last in zip([0, *ends], ends, strict=False)]

    def _make_room(self, text: bytes, start: int, stop: int) -> None:
        """Make room for the piece at `start`: more working memory if it is long, or else a larger or an emptied table."""
        length = piece_end(text, start, stop, self._arrays[CLASSES], bool(self._state[IS_GPT4])) - start
        old_slots, old_byte_store, old_id_store = (self._arrays[entry] for entry in (SLOTS, BYTE_STORE, ID_STORE))
        count = len(old_slots) // SLOT_WORDS
        if length > MAX_CACHED_BYTES:
            self._set_array(WORKING, np.empty(length * WORK_WORDS, np.uint64))
        elif count < MAX_SLOTS:
            counters = self._state[SLOTS_USED : IDS_STORED + 1].copy()
            self._reset_table(2 * count)
            self._state[SLOTS_USED : IDS_STORED + 1] = counters
            rehash_slots(old_slots, self._arrays[SLOTS])
            self._arrays[BYTE_STORE][: len(old_byte_store)] = old_byte_store
            self._arrays[ID_STORE][: len(old_id_store)] = old_id_store
        else:
            self._reset_table(count)

    def _reset_table(self, slots: int) -> None:
        """Replace the table by an empty one with this number of slots."""
        self._set_array(SLOTS, np.zeros(slots * SLOT_WORDS, np.uint64))
        self._set_array(BYTE_STORE, np.empty(max(slots * 32, MAX_CACHED_BYTES), np.uint8))
        self._set_array(ID_STORE, np.empty(max(slots * 8, MAX_CACHED_BYTES), np.int32))
        self._state[SLOTS_USED : IDS_STORED + 1] = 0

    def _set_array(self, entry: np.int64, array: np.ndarray) -> None:
        self._arrays[entry] = array  # Keeps the array alive while its address is in the state.
        self._state[2 * entry], self._state[2 * entry + 1] = array.ctypes.data, len(array)
