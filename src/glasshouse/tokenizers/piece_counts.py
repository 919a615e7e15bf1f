"""Counting how often each piece occurs in a stream of text. Knows nothing of merges or ids.

The chunks of the stream are concatenated, so their boundaries do not matter. The stream is counted in blocks whose
boundaries do not change any piece. Several threads can therefore share the work, and the result does not depend on their
number.

Memory: one block for each thread, at most `MAX_PIECES` distinct pieces (about 100 bytes each), and the new pieces of
`COMBINE_EVERY` blocks. If there are more pieces, the rarest are dropped until at most half of the limit is left. They are
too rare to become tokens, unless the text is so varied that nothing in it repeats.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Final

import numpy as np

from glasshouse.compilation import kernel, kernel_only
from glasshouse.tokenizers.base import encode_unicode, special_pattern
from glasshouse.tokenizers.piece_table import (
    INLINE_BYTES,
    SLOT_WORDS,
    find_slot,
    piece_key,
    process_known_pieces,
    rehash_slots,
)
from glasshouse.tokenizers.pretokenizer import character_classes, piece_end
from glasshouse.tokenizers.safe_boundaries import BLOCK_CHARACTERS, split_into_blocks

MAX_PIECES: Final = 1 << 23

COMBINE_EVERY: Final = 64
"""Blocks after which the counts of all threads are combined and the rarest pieces dropped."""

USED, STORED = 0, 1
"""The entries of `state`: how many pieces and how many bytes are stored."""

_NO_IDS = np.empty(0, np.int32)
_NONE, _ONCE = np.int64(0), np.int64(1)
_THIRTY_TWO = np.uint64(32)
_ZERO = np.uint64(0)


@kernel_only
def count_piece(text, start, end, frequency, slots, byte_store, ends, state):
    """Count one piece. Returns False if there is no room for it."""
    first, second = piece_key(text, start, end)
    slot = find_slot(slots, first, second, text, start, end, byte_store)
    if slots[slot + 2] == _ZERO:
        length = end - start
        used, stored = state[USED], state[STORED]
        if used >= len(ends) or stored + length > len(byte_store):
            return False
        slots[slot] = first
        slots[slot + 1] = second if length <= INLINE_BYTES else np.uint64(stored)
        slots[slot + 2] = np.uint64(length) | np.uint64(used) << _THIRTY_TWO
        for index in range(length):
            byte_store[stored + index] = text[start + index]
        ends[used] = stored + length
        state[USED] = used + 1
        state[STORED] = stored + length
    slots[slot + 3] += np.uint64(frequency)
    return True


@kernel
def count_text(text, start, stop, classes, is_gpt4, slots, byte_store, ends, state, no_ids):
    """Count the pieces of text[start:stop]. Returns where it stopped, which is before `stop` if there was no more room."""
    while True:
        start = process_known_pieces(text, start, stop, classes, is_gpt4, slots, byte_store, no_ids, no_ids, _NONE)[0]
        if start == stop:
            break
        end = piece_end(text, start, stop, classes, is_gpt4)
        if not count_piece(text, start, end, _ONCE, slots, byte_store, ends, state):
            break
        start = end
    return start


@kernel
def add_counted_pieces(pieces, piece_ends, frequencies, slots, byte_store, ends, state):
    """Add pieces that were counted elsewhere. There must be room for them."""
    start = 0
    for index in range(len(frequencies)):
        if frequencies[index] > 0:
            count_piece(pieces, start, piece_ends[index], frequencies[index], slots, byte_store, ends, state)
        start = piece_ends[index]


class PieceCounts:
    """The distinct pieces, in the order of their first occurrence, and how often each occurred."""

    def __init__(self, pattern: str) -> None:
        slots = 1 << 14
        self.pattern = pattern
        self.slots = np.zeros(slots * SLOT_WORDS, np.uint64)
        self.byte_store = np.empty(slots * 4, np.uint8)
        self.ends = np.empty(slots // 2, np.int64)  # The table is at most half full, since a crowded hash table is slow.
        self.state = np.zeros(2, np.int64)

    def __len__(self) -> int:
        return int(self.state[USED])

    def add_text(self, text: str) -> None:
        data = encode_unicode(text, "utf-8")
        classes, is_gpt4 = character_classes(), self.pattern == "gpt-4"
        start = 0
        while start < len(data):
            table = self.slots, self.byte_store, self.ends, self.state
            start = count_text(data, start, len(data), classes, is_gpt4, *table, _NO_IDS)
            if start < len(data):
                self._reserve(1, piece_end(data, start, len(data), classes, is_gpt4) - start)

    def add_counts(self, pieces: bytes, ends: np.ndarray, frequencies: np.ndarray) -> None:
        """Add pieces that were counted elsewhere: concatenated bytes, where each piece ends, and how often it occurred."""
        self._reserve(len(frequencies), len(pieces))
        add_counted_pieces(pieces, ends, frequencies, self.slots, self.byte_store, self.ends, self.state)

    def to_arrays(self) -> tuple[bytes, np.ndarray, np.ndarray]:
        """The concatenated bytes of all pieces, where each piece ends, and how often it occurred."""
        used, stored = self.state.tolist()
        lengths, counts = self.slots[2::SLOT_WORDS], self.slots[3::SLOT_WORDS]
        filled = lengths > 0
        frequencies = np.empty(used, np.int64)
        frequencies[(lengths[filled] >> _THIRTY_TWO).astype(np.int64)] = counts[filled]
        return self.byte_store[:stored].tobytes(), self.ends[:used], frequencies

    def drop_rarest(self, max_pieces: int) -> None:
        """Keep at most `max_pieces` pieces: all that occurred more often than a threshold."""
        pieces, ends, frequencies = self.to_arrays()
        threshold = np.partition(frequencies, len(frequencies) - max_pieces - 1)[len(frequencies) - max_pieces - 1]
        self.__init__(self.pattern)  # type: ignore[misc]
        self.add_counts(pieces, ends, np.where(frequencies > threshold, frequencies, 0))

    def _reserve(self, pieces: int, length: int) -> None:
        """Make room for so many more pieces of so many bytes in all."""
        used, stored = self.state.tolist()
        while used + pieces > len(self.ends):
            slots = np.zeros(2 * len(self.slots), np.uint64)
            rehash_slots(self.slots, slots)
            self.slots, self.ends = slots, np.resize(self.ends, 2 * len(self.ends))
        if stored + length > len(self.byte_store):
            self.byte_store = np.resize(self.byte_store, 4 * stored + length)


def count_stream(
    chunks: Iterable[str],
    pattern: str,
    specials: Sequence[str],
    threads: int,
    report: Callable[[int], None] = lambda characters: None,
    max_pieces: int = MAX_PIECES,
    size: int = BLOCK_CHARACTERS,
) -> PieceCounts:
    """Count the pieces of a stream of text.

    Special tokens end a piece and are not counted. `report` receives the number of characters counted so far.
    """
    separator = special_pattern(specials)
    total, characters = PieceCounts(pattern), 0
    blocks = split_into_blocks(chunks, specials, size)

    def count(table: PieceCounts, block: str) -> None:
        for text in separator.split(block):
            table.add_text(text)

    with ThreadPoolExecutor(threads) as pool:
        while True:
            tables = [PieceCounts(pattern) for _ in range(threads)]
            pending: dict[int, Future[None]] = {}
            for index, block in enumerate(islice(blocks, COMBINE_EVERY)):
                worker = index % threads
                if worker in pending:
                    pending[worker].result()
                pending[worker] = pool.submit(count, tables[worker], block)
                characters += len(block)
                report(characters)
            for worker, future in pending.items():
                future.result()
                total.add_counts(*tables[worker].to_arrays())
            if not pending:
                return total
            if len(total) > max_pieces:
                total.drop_rarest(max_pieces // 2)
