"""Encoding of text for one byte-pair vocabulary. Knows nothing of special tokens, files or training.

Text is repetitive: most pieces have occurred before. A new piece is merged once, and its ids are stored in a hash table, so
encoding consists mostly of splitting and looking up. The table has a maximum size. When it is full it is emptied, and common
pieces soon return.

Each array argument of a compiled function costs as much time as encoding twenty bytes, and a line of text is short. So the
addresses and lengths of the arrays are in an int64 table, the state, and only this table is passed.
"""

import heapq
from collections.abc import Sequence
from typing import Final

import numpy as np
from numba import carray

from glasshouse.compilation import kernel, kernel_only, pointer
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

WORK_WORDS: Final = 4
"""64-bit words of working memory for each byte of a piece."""

_NO_MERGE = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW_32_BITS = np.uint64(0xFFFFFFFF)
_THIRTY_TWO = np.uint64(32)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


def build_merge_table(merges: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """Build the hash table of merges. An entry is a key, `left id << 32 | right id`, and a value, `rank << 32 | merged id`.

    A merge is (left id, right id, merged id). Its index in the list is its rank.
    """
    capacity = 4
    while capacity < 2 * len(merges):
        capacity *= 2
    table = np.full(2 * capacity, _NO_MERGE, np.uint64)
    if merges:
        left, right, merged = np.asarray(merges, np.uint64).T
        _fill_merge_table(table, left << _THIRTY_TWO | right, merged)
    return table


@kernel
def _fill_merge_table(table, keys, merged):
    mask = np.uint64(len(table) // 2 - 1)
    for rank in range(len(keys)):
        slot = (keys[rank] * _MULTIPLIER >> _THIRTY_TWO) & mask
        while table[np.int64(slot) * 2] != _NO_MERGE and table[np.int64(slot) * 2] != keys[rank]:
            slot = (slot + _ONE) & mask
        table[np.int64(slot) * 2] = keys[rank]
        table[np.int64(slot) * 2 + 1] = np.uint64(rank) << _THIRTY_TWO | merged[rank]


@kernel_only
def find_merge(table, left, right):
    """`rank << 32 | merged id` of a pair. If the pair has no merge, `_NO_MERGE`, which is larger than any rank."""
    key = left << _THIRTY_TWO | right
    mask = np.uint64(len(table) // 2 - 1)
    slot = (key * _MULTIPLIER >> _THIRTY_TWO) & mask
    while True:
        stored = table[np.int64(slot) * 2]
        if stored == key:
            return table[np.int64(slot) * 2 + 1]
        if stored == _NO_MERGE:
            return _NO_MERGE
        slot = (slot + _ONE) & mask


@kernel
def merge_piece(text, start, end, byte_ids, table, work):
    """Write the ids of one piece to the front of `work` and return their number. Bytes without an id (-1) are skipped.

    While any two neighbouring tokens form a known pair, the pair of lowest rank is merged, the leftmost if it occurs more
    than once. A megabyte of one letter is one piece, so a heap of `rank << 32 | position` holds the candidates. `work` has
    four arrays of a word for each byte: the ids, the merge of each id with its right neighbour, the position of the previous
    id, and the position of the next id: a doubly linked list. A heap entry is skipped if the merge at its position has
    changed in the meantime.
    """
    count = np.int64(0)
    for position in range(start, end):
        id = byte_ids[text[position]]
        if id >= 0:
            work[count] = np.uint64(id)
            count += 1
    merge, previous, following = count, 2 * count, 3 * count
    heap = [_NO_MERGE]  # larger than all entries, so it is the last one
    for here in range(count):
        work[previous + here] = np.uint64(here - 1)  # For the first id, this wraps around to a value above every position.
        work[following + here] = np.uint64(here + 1)
        work[merge + here] = _NO_MERGE
        if here + 1 < count:
            work[merge + here] = find_merge(table, work[here], work[here + 1])
            if work[merge + here] != _NO_MERGE:
                heapq.heappush(heap, work[merge + here] & ~_LOW_32_BITS | np.uint64(here))
    while len(heap) > 1:
        entry = heapq.heappop(heap)
        here = np.int64(entry & _LOW_32_BITS)
        if work[merge + here] == _NO_MERGE or work[merge + here] & ~_LOW_32_BITS != entry & ~_LOW_32_BITS:
            continue
        absorbed = np.int64(work[following + here])
        work[here] = work[merge + here] & _LOW_32_BITS
        work[merge + absorbed] = _NO_MERGE
        work[following + here] = work[following + absorbed]
        if work[following + here] < np.uint64(count):
            work[previous + np.int64(work[following + here])] = np.uint64(here)
        for neighbour in (work[previous + here], np.uint64(here)):
            # The pair that ends at the merged id and the pair that starts there have changed.
            left = np.int64(neighbour)
            if neighbour < np.uint64(count):
                right = work[following + left]
                work[merge + left] = _NO_MERGE
                if right < np.uint64(count):
                    work[merge + left] = find_merge(table, work[left], work[np.int64(right)])
                    if work[merge + left] != _NO_MERGE:
                        heapq.heappush(heap, work[merge + left] & ~_LOW_32_BITS | neighbour)
    remaining, here = 0, 0
    while here < count:
        work[remaining] = work[here]
        remaining += 1
        here = np.int64(work[following + here])
    return remaining


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


@kernel
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
        while (count := encode_span(text, self._state, start, len(text))) < 0:
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
