"""How often each piece occurs in a stream of text; knows nothing of merges or ids.

The chunks of the stream are taken as one text: it does not matter where one ends and the next begins. The stream is
counted in blocks, cut where cutting changes no piece, so that several threads can share the work and the result does
not depend on how many there are.

Memory: a block for each thread, and at most `MOST_PIECES` different pieces (about 100 bytes each) plus those that are
new in `GATHER_EVERY` blocks. When there are more, the rarest are dropped until at most half of that limit is left: they
occurred too seldom to become tokens, unless the text is so varied that nothing in it repeats.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import numpy as np

from glasshouse.tokenizers.base import encoded
from glasshouse.tokenizers.compilation import kernel, part
from glasshouse.tokenizers.piece_lookup import follow_known
from glasshouse.tokenizers.piece_table import SHORT, SLOT, find_slot, move_slots, piece_key
from glasshouse.tokenizers.pretokenizer import machine_classes, piece_end
from glasshouse.tokenizers.safe_cuts import BLOCK, blocks

MOST_PIECES: Final = 1 << 23

GATHER_EVERY: Final = 64
"""Blocks after which the threads' counts are added up and the rarest pieces dropped."""

USED, STORED = 0, 1

_NOTHING = np.empty(0, np.int32)
_NONE, _ONCE = np.int64(0), np.int64(1)
_THIRTY_TWO = np.uint64(32)
_ZERO = np.uint64(0)


@part
def count_piece(text, start, end, times, slots, store, ends, state):  # type: ignore[no-untyped-def]
    """Count one piece; False if there is no room for it."""
    first, second = piece_key(text, start, end)
    slot = find_slot(slots, first, second, text, start, end, store)
    if slots[slot + 2] == _ZERO:
        length = end - start
        used, stored = state[USED], state[STORED]
        if used >= len(ends) or stored + length > len(store):
            return False
        slots[slot] = first
        slots[slot + 1] = second if length <= SHORT else np.uint64(stored)
        slots[slot + 2] = np.uint64(length) | np.uint64(used) << _THIRTY_TWO
        for index in range(length):
            store[stored + index] = text[start + index]
        ends[used] = stored + length
        state[USED] = used + 1
        state[STORED] = stored + length
    slots[slot + 3] += np.uint64(times)
    return True


@kernel
def count_text(text, start, stop, classes, fourth, slots, store, ends, state, nothing):  # type: ignore[no-untyped-def]
    """Count the pieces of text[start:stop]; returns where it stopped: before the end if there was no more room."""
    while True:
        start = follow_known(text, start, stop, classes, fourth, slots, store, nothing, nothing, _NONE)[0]
        if start == stop:
            break
        end = piece_end(text, start, stop, classes, fourth)
        if not count_piece(text, start, end, _ONCE, slots, store, ends, state):
            break
        start = end
    return start


@kernel
def count_again(pieces, pieces_end, times, index, slots, store, ends, state):  # type: ignore[no-untyped-def]
    """Add pieces counted elsewhere, from one index on; returns the index where it stopped."""
    while index < len(times):
        start = pieces_end[index - 1] if index > 0 else 0
        if times[index] > 0 and not count_piece(pieces, start, pieces_end[index], times[index], slots, store, ends, state):
            break
        index += 1
    return index


class PieceCounts:
    """Different pieces, in the order first seen, and how often each occurred."""

    def __init__(self, pattern: str) -> None:
        slots = 1 << 14
        self.pattern = pattern
        self.slots = np.zeros(slots * SLOT, np.uint64)
        self.store = np.empty(slots * 4, np.uint8)
        self.ends = np.empty(slots // 2, np.int64)  # Half full is full: a crowded table is slow.
        self.state = np.zeros(2, np.int64)

    def __len__(self) -> int:
        return int(self.state[USED])

    def add_text(self, text: str) -> None:
        """Count the pieces of a text."""
        data = encoded(text, "utf-8")
        classes, fourth = machine_classes(), self.pattern == "gpt-4"
        start = 0
        while start < len(data):
            table = self.slots, self.store, self.ends, self.state
            start = count_text(data, start, len(data), classes, fourth, *table, _NOTHING)
            if start < len(data):
                self._grow(piece_end(data, start, len(data), classes, fourth) - start)

    def add_counts(self, pieces: bytes, ends: np.ndarray, times: np.ndarray) -> None:
        """Add pieces counted elsewhere: their bytes on end, where each ends, and how often it occurred."""
        index = 0
        while index < len(times):
            index = count_again(pieces, ends, times, index, self.slots, self.store, self.ends, self.state)
            if index < len(times):
                self._grow(int(ends[index]) - (int(ends[index - 1]) if index else 0))

    def result(self) -> tuple[bytes, np.ndarray, np.ndarray]:
        """The bytes of all pieces on end, where each ends, and how often each occurred."""
        used, stored = self.state.tolist()
        lengths, counts = self.slots[2::SLOT], self.slots[3::SLOT]
        filled = lengths > 0
        times = np.empty(used, np.int64)
        times[(lengths[filled] >> _THIRTY_TWO).astype(np.int64)] = counts[filled]
        return self.store[:stored].tobytes(), self.ends[:used], times

    def drop_rarest(self, most: int) -> None:
        """Keep at most this many pieces: all that occurred more often than some number of times."""
        pieces, ends, times = self.result()
        threshold = np.partition(times, len(times) - most - 1)[len(times) - most - 1]
        self.__init__(self.pattern)  # type: ignore[misc]
        self.add_counts(pieces, ends, np.where(times > threshold, times, 0))

    def _grow(self, length: int) -> None:
        """Make room for one more piece of this length."""
        used, stored = self.state.tolist()
        if used == len(self.ends):
            slots = np.zeros(4 * len(self.slots), np.uint64)
            move_slots(self.slots, slots)
            self.slots = slots
            self.ends = np.concatenate((self.ends, np.empty(3 * used, np.int64)))
        if stored + length > len(self.store):
            self.store = np.concatenate((self.store, np.empty(max(3 * stored, length), np.uint8)))


def count_stream(
    chunks: Iterable[str],
    pattern: str,
    specials: Sequence[str],
    threads: int,
    report: Callable[[int], None] = lambda characters: None,
    most: int = MOST_PIECES,
    size: int = BLOCK,
) -> PieceCounts:
    """Count the pieces of a stream. Special tokens in it end a piece and are not counted; `report` hears how far it is."""
    separator = re.compile("|".join(map(re.escape, sorted(specials, key=len, reverse=True))) or r"(?!)")
    total = PieceCounts(pattern)
    tables = [total] if threads <= 1 else [PieceCounts(pattern) for _ in range(threads)]
    busy: list[Future[None] | None] = [None] * len(tables)
    characters = 0

    def count(table: PieceCounts, block: str) -> None:
        for text in separator.split(block):
            table.add_text(text)

    def gather() -> None:
        for future in busy:
            if future:
                future.result()
        for index, table in enumerate(tables):
            if table is not total:
                total.add_counts(*table.result())
                tables[index] = PieceCounts(pattern)
        if len(total) > most:
            total.drop_rarest(most // 2)

    with ThreadPoolExecutor(max(1, threads)) as pool:
        for index, block in enumerate(blocks(chunks, specials, size)):
            turn = index % len(tables)
            earlier = busy[turn]
            if earlier:
                earlier.result()
            if threads <= 1:
                count(total, block)
            else:
                busy[turn] = pool.submit(count, tables[turn], block)
            if (index + 1) % GATHER_EVERY == 0:
                gather()
            characters += len(block)
            report(characters)
        gather()
    return total
