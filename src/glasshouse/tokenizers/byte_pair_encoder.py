"""Text to ids for one vocabulary of byte pairs; knows nothing of special tokens, files or how merges were learned.

Text repeats itself: most pieces have been merged before. A new piece is merged once and its ids kept in a table, so
that encoding is splitting and looking up. The table is bounded; when full it is emptied, and what is common returns.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from glasshouse.tokenizers.array_addresses import array_at, write_address
from glasshouse.tokenizers.byte_pair_merging import WORK, merge_piece
from glasshouse.tokenizers.compilation import kernel, part
from glasshouse.tokenizers.piece_lookup import follow_known
from glasshouse.tokenizers.piece_table import SHORT, SLOT, find_slot, move_slots, piece_key
from glasshouse.tokenizers.pretokenizer import machine_classes, piece_end

LONGEST_KEPT: Final = 256
"""Longer pieces, in bytes, are merged each time: they seldom come twice."""

FEWEST_SLOTS: Final = 1 << 12
MOST_SLOTS: Final = 1 << 18
"""At most half of the slots are used. A slot takes 32 bytes, and room for long pieces and for ids another 64."""

SMALL: Final = 1 << 14
"""Texts of up to so many bytes are encoded into memory that is used again: new memory costs more than a copy."""

CLASSES, SLOTS, STORE, SPANS, MERGES, BYTE_IDS, WORKING, IDS = (np.int64(entry) for entry in range(8))
FOURTH, USED, STORED, SPANNED, WRITTEN = (np.int64(entry) for entry in range(16, 21))
"""The entries of the book: first arrays, two words each, then numbers."""

_THIRTY_TWO = np.uint64(32)


@part
def keep_piece(text, start, end, slots, store, spans, work, count, book):  # type: ignore[no-untyped-def]
    """Put a piece and its ids, which lie at the front of `work`, into the table."""
    length = end - start
    first, second = piece_key(text, start, end)
    slot = find_slot(slots, first, second, text, start, end, store)
    if length > SHORT:
        second = np.uint64(book[STORED])
        for position in range(start, end):
            store[book[STORED]] = text[position]
            book[STORED] += 1
    slots[slot] = first
    slots[slot + 1] = second
    slots[slot + 2] = np.uint64(length) | np.uint64(count) << _THIRTY_TWO
    if count <= 2:
        slots[slot + 3] = work[0] | work[1] << _THIRTY_TWO
    else:
        slots[slot + 3] = np.uint64(book[SPANNED])
        for index in range(count):
            spans[book[SPANNED]] = np.int32(work[index])
            book[SPANNED] += 1
    book[USED] += 1


@part
def encode_span(text, book, start, stop):  # type: ignore[no-untyped-def]
    """Encode text[start:stop]; returns how many ids there are now, or ~position where there was no room to go on."""
    classes, slots = array_at(book, CLASSES, np.uint8), array_at(book, SLOTS, np.uint64)
    store, spans = array_at(book, STORE, np.uint8), array_at(book, SPANS, np.int32)
    merges, byte_ids = array_at(book, MERGES, np.uint64), array_at(book, BYTE_IDS, np.int32)
    work, ids = array_at(book, WORKING, np.uint64), array_at(book, IDS, np.int32)
    fourth, written = book[FOURTH] != 0, book[WRITTEN]
    while True:
        start, written = follow_known(text, start, stop, classes, fourth, slots, store, spans, ids, written)
        if start == stop:
            return written
        end = piece_end(text, start, stop, classes, fourth)
        length = end - start
        if length > LONGEST_KEPT:
            if length * WORK > len(work):
                break
        elif (
            book[USED] * 2 * SLOT >= len(slots) or book[STORED] + length > len(store) or book[SPANNED] + length > len(spans)
        ):
            break
        count = merge_piece(text, start, end, byte_ids, merges, work)
        if length > LONGEST_KEPT:
            for index in range(count):
                ids[written + index] = np.int32(work[index])
            written += count
            start = end
        else:
            keep_piece(text, start, end, slots, store, spans, work, count, book)
    book[WRITTEN] = written
    return ~start


@kernel
def encode_text(text, book, start):  # type: ignore[no-untyped-def]
    """Encode from `start` to the end; returns as above."""
    return encode_span(text, book, start, len(text))


@kernel
def encode_each(text, book, start, stops, counts, index):  # type: ignore[no-untyped-def]
    """Encode texts that lie on end, from one on; notes after each how many ids there are, and returns as above."""
    while index < len(stops):
        count = encode_span(text, book, start, stops[index])
        if count < 0:
            return count
        book[WRITTEN] = counts[index] = count
        start = stops[index]
        index += 1
    return book[WRITTEN]


class PieceEncoder:
    """The encoder and its table of pieces seen. One thread at a time may use it."""

    def __init__(self, byte_ids: np.ndarray, merges: np.ndarray, pattern: str) -> None:
        self._book = np.zeros(int(WRITTEN) + 1, np.int64)
        self._book[FOURTH] = pattern == "gpt-4"
        self._arrays: dict[np.int64, np.ndarray] = {}
        self._ids = np.empty(SMALL + 1, np.int32)
        self._set(CLASSES, machine_classes())
        self._set(BYTE_IDS, byte_ids)
        self._set(MERGES, merges)
        self._set(WORKING, np.empty(LONGEST_KEPT * WORK, np.uint64))
        self._set(IDS, self._ids)
        self._empty(FEWEST_SLOTS)

    def encode(self, text: bytes) -> np.ndarray:
        """The ids of a text in UTF-8."""
        if len(text) <= SMALL:
            count = encode_text(text, self._book, 0)
            if count < 0:
                count = self._go_on(text, ~count)
            return self._ids[:count].copy()
        ids = np.empty(len(text) + 1, np.int32)  # An id for each byte at most, and a place that may be written in vain.
        self._set(IDS, ids)
        try:
            count = self._go_on(text, 0)
        finally:
            self._set(IDS, self._ids)
        ids.resize(count, refcheck=False)
        return ids

    def encode_batch(self, texts: Sequence[bytes]) -> list[np.ndarray]:
        """The ids of each of many texts; together they take one call, which for short ones is most of the time."""
        together = b"".join(texts)
        stops = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        counts = np.zeros(len(texts), np.int64)
        ids = np.empty(len(together) + 1, np.int32)
        self._set(IDS, ids)
        try:
            start = index = 0
            while (count := encode_each(together, self._book, start, stops, counts, index)) < 0:
                start = ~count
                index = int(np.searchsorted(stops, start, side="right"))
                self._make_room(together, start, int(stops[index]))
        finally:
            self._book[WRITTEN] = 0
            self._set(IDS, self._ids)
        ids.resize(count, refcheck=False)
        ends = counts.tolist()
        return [ids[first:last] for first, last in zip([0, *ends], ends, strict=False)]

    def _go_on(self, text: bytes, start: int) -> int:
        """Encode, making room as often as need be; returns how many ids there are."""
        while (count := encode_text(text, self._book, start)) < 0:
            start = ~count
            self._make_room(text, start, len(text))
        self._book[WRITTEN] = 0
        return count

    def _make_room(self, text: bytes, start: int, stop: int) -> None:
        """Room for the piece that starts here: more working memory if it is long, else a larger or an emptied table."""
        length = piece_end(text, start, stop, self._arrays[CLASSES], bool(self._book[FOURTH])) - start
        old_slots, old_store, old_spans = (self._arrays[entry] for entry in (SLOTS, STORE, SPANS))
        count = len(old_slots) // SLOT
        if length > LONGEST_KEPT:
            self._set(WORKING, np.empty(length * WORK, np.uint64))
        elif count < MOST_SLOTS:
            kept = self._book[USED : SPANNED + 1].copy()
            self._empty(2 * count)
            self._book[USED : SPANNED + 1] = kept
            move_slots(old_slots, self._arrays[SLOTS])
            self._arrays[STORE][: len(old_store)] = old_store
            self._arrays[SPANS][: len(old_spans)] = old_spans
        else:
            self._empty(count)

    def _empty(self, slots: int) -> None:
        """A new table, with nothing in it."""
        self._set(SLOTS, np.zeros(slots * SLOT, np.uint64))
        self._set(STORE, np.empty(max(slots * 32, LONGEST_KEPT), np.uint8))
        self._set(SPANS, np.empty(max(slots * 8, LONGEST_KEPT), np.int32))
        self._book[USED : SPANNED + 1] = 0

    def _set(self, entry: np.int64, array: np.ndarray) -> None:
        self._arrays[entry] = array  # Kept alive for as long as its address is in the book.
        write_address(self._book, int(entry), array)
