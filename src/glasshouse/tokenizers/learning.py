"""Which byte pairs to merge, learned from how often pieces occur; knows nothing of how text is split or encoded.

Each step merges the most frequent pair of neighbours; of several equally frequent, the one whose ids are smallest, first
the left id and then the right (the rule of the `tokenizers` package, so that both learn the same merges). Counts are
64-bit and kept up to date: a merge touches only the pieces that contain the pair.

If a merge spells a token that exists already (`a`+`bc` after `ab`+`c`), it makes that token: a vocabulary names each
spelling once. So there may be more merges than new tokens.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numba import njit

from glasshouse.tokenizers.piece_table import SHORT, SLOT, find_slot, piece_key

STEPS: Final = 1 << 10
"""Tokens between two reports of progress."""

PAIRS, PLACES, CANDIDATES, TOKENS, MERGES, TOUCHED = 0, 1, 2, 3, 4, 5

PAIR: Final = 4
"""Words of a pair's slot: the pair (left << 32 | right), its count, the last place where it occurs, when last touched."""

_EMPTY: Final = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_THIRTY_TWO = np.uint64(32)


@njit(cache=True, nogil=True)
def find_pair(pairs, pair):  # type: ignore[no-untyped-def]
    """Where a pair's slot begins; if the table lacks it, the empty slot where it belongs."""
    mask = len(pairs) // PAIR - 1
    place = np.int64(np.uint64(pair) * _MULTIPLIER >> _THIRTY_TWO) & mask
    while pairs[place * PAIR] != pair and pairs[place * PAIR] != _EMPTY:
        place = (place + 1) & mask
    return place * PAIR


@njit(cache=True, nogil=True)
def grow_pairs(pairs):  # type: ignore[no-untyped-def]
    """The same pairs in a table of twice the size."""
    larger = np.full(2 * len(pairs), np.int64(_EMPTY))
    for slot in range(0, len(pairs), PAIR):
        if pairs[slot] != _EMPTY:
            place = find_pair(larger, pairs[slot])
            larger[place : place + PAIR] = pairs[slot : slot + PAIR]
    return larger


@njit(cache=True, nogil=True)
def comes_first(count, pair, other_count, other_pair):  # type: ignore[no-untyped-def]
    """Whether a pair is to be merged before another."""
    return count > other_count or (count == other_count and pair < other_pair)


@njit(cache=True, nogil=True)
def push(heap, size, count, pair):  # type: ignore[no-untyped-def]
    """Add a pair to the heap of candidates."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if not comes_first(count, pair, heap[parent, 0], heap[parent, 1]):
            break
        heap[child, 0], heap[child, 1] = heap[parent, 0], heap[parent, 1]
        child = parent
    heap[child, 0], heap[child, 1] = count, pair


@njit(cache=True, nogil=True)
def replace_first(heap, size, count, pair):  # type: ignore[no-untyped-def]
    """Put a pair in the place of the heap's first, and let it sink to where it belongs."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and comes_first(heap[child + 1, 0], heap[child + 1, 1], heap[child, 0], heap[child, 1]):
            child += 1
        if not comes_first(heap[child, 0], heap[child, 1], count, pair):
            break
        heap[parent, 0], heap[parent, 1] = heap[child, 0], heap[child, 1]
        parent = child
    heap[parent, 0], heap[parent, 1] = count, pair


@njit(cache=True, nogil=True)
def raise_pair(pairs, pair, times, piece, places, counters):  # type: ignore[no-untyped-def]
    """Count a pair seen in a piece, and note the place. Returns its slot."""
    slot = find_pair(pairs, pair)
    if pairs[slot] == _EMPTY:
        pairs[slot], pairs[slot + 1], pairs[slot + 2], pairs[slot + 3] = pair, 0, _EMPTY, _EMPTY
        counters[PAIRS] += 1
    pairs[slot + 1] += times
    last = pairs[slot + 2]
    if last == _EMPTY or places[last, 0] != piece:
        places[counters[PLACES], 0] = piece
        places[counters[PLACES], 1] = last
        pairs[slot + 2] = counters[PLACES]
        counters[PLACES] += 1
    return slot


@njit(cache=True, nogil=True)
def with_room(pairs, places, counters, more):  # type: ignore[no-untyped-def]
    """The table of pairs and the list of places, grown if need be to take so many more."""
    while (counters[PAIRS] + more) * 2 * PAIR > len(pairs):
        pairs = grow_pairs(pairs)
    if counters[PLACES] + more > len(places):
        larger = np.empty((2 * len(places) + more, 2), np.int32)
        larger[: len(places)] = places
        places = larger
    return pairs, places


@njit(cache=True, nogil=True)
def count_pairs(symbols, ends, times, counters):  # type: ignore[no-untyped-def]
    """The table of pairs, the places where each occurs, and the heap of candidates."""
    pairs = np.full(PAIR << 14, np.int64(_EMPTY))
    places = np.empty((1 << 16, 2), np.int32)
    start = 0
    for piece in range(len(ends)):
        pairs, places = with_room(pairs, places, counters, ends[piece] - start)
        for position in range(start, ends[piece] - 1):
            pair = np.int64(symbols[position]) << 32 | symbols[position + 1]
            raise_pair(pairs, pair, times[piece], piece, places, counters)
        start = ends[piece]
    heap = np.empty((max(1 << 16, 2 * counters[PAIRS]), 2), np.int64)
    for slot in range(0, len(pairs), PAIR):
        if pairs[slot] != _EMPTY:
            push(heap, counters[CANDIDATES], pairs[slot + 1], pairs[slot])
            counters[CANDIDATES] += 1
    return pairs, places, heap


@njit(cache=True, nogil=True)
def spell(left, right, spellings, store, ends, counters):  # type: ignore[no-untyped-def]
    """The id of the token that two tokens spell together, which is a new one unless it has been spelled before."""
    token = counters[TOKENS]
    start = end = ends[token - 1]
    for part in (left, right):
        for position in range(ends[part - 1] if part > 0 else 0, ends[part]):
            store[end] = store[position]
            end += 1
    first, second = piece_key(store, start, end)
    slot = find_slot(spellings, first, second, store, start, end, store)
    if spellings[slot + 2] > 0:
        return np.int64(spellings[slot + 3])
    spellings[slot] = first
    spellings[slot + 1] = second if end - start <= SHORT else np.uint64(start)
    spellings[slot + 2] = np.uint64(end - start)
    spellings[slot + 3] = np.uint64(token)
    ends[token] = end
    counters[TOKENS] = token + 1
    return token


@njit(cache=True, nogil=True)
def merge_in_piece(symbols, start, length, pair, token, times, piece, pairs, places, counters, touched, step):  # type: ignore[no-untyped-def]
    """Merge a pair wherever it occurs in one piece, left to right, and keep the counts; returns the new length."""
    left, right = pair >> 32, pair & 0xFFFFFFFF
    read = write = start
    stop = start + length
    while read < stop:
        symbol = np.int64(symbols[read])
        if symbol == left and read + 1 < stop and symbols[read + 1] == right:
            symbol = token
            if write > start:
                before = np.int64(symbols[write - 1])
                pairs[find_pair(pairs, before << 32 | left) + 1] -= times
                raised = raise_pair(pairs, before << 32 | token, times, piece, places, counters)
                touch(pairs, raised, touched, counters, step)
            if read + 2 < stop:
                after = np.int64(symbols[read + 2])
                pairs[find_pair(pairs, right << 32 | after) + 1] -= times
                raised = raise_pair(pairs, token << 32 | after, times, piece, places, counters)
                touch(pairs, raised, touched, counters, step)
            read += 1
        symbols[write] = symbol
        write += 1
        read += 1
    return write - start


@njit(cache=True, nogil=True)
def touch(pairs, slot, touched, counters, step):  # type: ignore[no-untyped-def]
    """List a pair whose count has grown, once in a step."""
    if pairs[slot + 3] != step:
        pairs[slot + 3] = step
        touched[counters[TOUCHED]] = pairs[slot]
        counters[TOUCHED] += 1


@njit(cache=True, nogil=True)
def enlarged(array, needed):  # type: ignore[no-untyped-def]
    """An array with room for so many rows, the old ones first: the array itself if it has."""
    if needed <= len(array):
        return array
    larger = np.empty((2 * needed,) + array.shape[1:], array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def learn_steps(symbols, starts, lengths, times, pairs, places, heap, spellings, store, ends, merges, counters, most):  # type: ignore[no-untyped-def]
    """Merge until there are `most` tokens or no pair is left; returns the arrays that may have grown."""
    touched = np.empty(1 << 12, np.int64)
    while counters[TOKENS] < most and counters[CANDIDATES] > 0:
        pair = heap[0, 1]
        slot = find_pair(pairs, pair)
        count = pairs[slot + 1]
        if count > 0 and count != heap[0, 0]:
            replace_first(heap, counters[CANDIDATES], count, pair)  # Other merges have taken some since it was listed.
            continue
        counters[CANDIDATES] -= 1
        last = counters[CANDIDATES]
        replace_first(heap, last, heap[last, 0], heap[last, 1])
        if count <= 0:
            continue
        left, right = pair >> 32, pair & 0xFFFFFFFF
        store = enlarged(store, ends[counters[TOKENS] - 1] + 2 * longest(ends, left, right))
        token = spell(left, right, spellings, store, ends, counters)
        step = counters[MERGES]
        merges = enlarged(merges, step + 1)
        merges[step, 0], merges[step, 1], merges[step, 2] = left, right, token
        counters[MERGES] += 1
        counters[TOUCHED] = 0
        place = pairs[slot + 2]
        pairs[slot + 2] = _EMPTY
        while place != _EMPTY:
            piece = np.int64(places[place, 0])
            place = places[place, 1]
            length = lengths[piece]
            pairs, places = with_room(pairs, places, counters, length)
            touched = enlarged(touched, counters[TOUCHED] + length)
            lengths[piece] = merge_in_piece(
                symbols, starts[piece], length, pair, token, times[piece], piece, pairs, places, counters, touched, step
            )
        pairs[find_pair(pairs, pair) + 1] = 0
        heap = enlarged(heap, counters[CANDIDATES] + counters[TOUCHED])
        for index in range(counters[TOUCHED]):
            count = pairs[find_pair(pairs, touched[index]) + 1]
            if count > 0:
                push(heap, counters[CANDIDATES], count, touched[index])
                counters[CANDIDATES] += 1
    return pairs, places, heap, store, merges


@njit(cache=True, nogil=True)
def longest(ends, left, right):  # type: ignore[no-untyped-def]
    """The length in bytes of the longer of two tokens."""
    return max(ends[left] - (ends[left - 1] if left > 0 else 0), ends[right] - (ends[right - 1] if right > 0 else 0))


def learn(
    pieces: np.ndarray,
    piece_ends: np.ndarray,
    times: np.ndarray,
    alphabet: np.ndarray,
    most: int,
    report: Callable[[int], None] = lambda tokens: None,
) -> tuple[list[tuple[int, int, int]], int]:
    """The merges (left id, right id, id) that give `most` tokens, or as many as can be had; and that number.

    `pieces` are the bytes of all pieces on end. `alphabet` gives the first 256 tokens their bytes: token i is one byte,
    `alphabet[i]`. No pair is merged across the end of a piece.
    """
    token_of = np.empty(256, np.int32)
    token_of[alphabet] = np.arange(256)
    symbols = token_of[pieces]
    starts = np.concatenate(([0], piece_ends[:-1])).astype(np.int64)
    lengths = np.diff(piece_ends, prepend=0)
    counters = np.zeros(6, np.int64)
    pairs, places, heap = count_pairs(symbols, piece_ends, times, counters)
    counters[TOKENS] = 256
    capacity = 1 << int(2 * most + 2).bit_length()
    spellings = np.zeros(capacity * SLOT, np.uint64)
    ends = np.zeros(max(most, 256) + 1, np.int64)
    ends[:256] = np.arange(1, 257)
    store = np.concatenate((alphabet.astype(np.uint8), np.empty(1 << 16, np.uint8)))
    merges = np.empty((most, 3), np.int64)
    while counters[TOKENS] < most and counters[CANDIDATES] > 0:
        stop = min(most, int(counters[TOKENS]) + STEPS)
        pairs, places, heap, store, merges = learn_steps(
            symbols, starts, lengths, times, pairs, places, heap, spellings, store, ends, merges, counters, stop
        )
        report(int(counters[TOKENS]))
    learned: dict[tuple[int, int], int] = {}
    for left, right, token in merges[: counters[MERGES]].tolist():
        # A pair can come up again, when one of its parts has been spelled in another way. It has one rank, the last.
        learned.pop((left, right), None)
        learned[left, right] = token
    return [(left, right, token) for (left, right), token in learned.items()], int(counters[TOKENS])
