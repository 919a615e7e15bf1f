"""Which byte pairs to merge, learned from how often pieces occur; knows nothing of how text is split or encoded.

Each step merges the most frequent pair of neighbours; of several equally frequent, the one whose ids are smallest, the
left id before the right (the rule of the `tokenizers` package, so that both learn the same merges). Counts are 64-bit
and kept up to date: a merge touches only the pieces that contain the pair.

If a merge spells a token that exists already (`a`+`bc` after `ab`+`c`), it makes that token: a vocabulary names each
spelling once. So there may be more merges than new tokens.

Memory: 4 bytes for each byte of the different pieces, up to 24 for the places where pairs occur, and 64 for each pair.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from glasshouse.tokenizers.compilation import kernel, part

PAIR: Final = 4
"""Words of a pair's slot: the pair (left << 32 | right), its count, the last place where it occurs, its last step."""

PAIRS, PLACES, CANDIDATES, TOKENS, MERGES, TOUCHED = range(6)
"""What `counters` counts."""

REPORT_EVERY: Final = 1 << 10

_EMPTY, _TOP = np.int64(-1), np.int64(0)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_THIRTY_TWO = np.uint64(32)


@part
def find_pair(pairs, pair):  # type: ignore[no-untyped-def]
    """Where a pair's slot begins; if the table lacks it, the empty slot where it belongs."""
    mask = len(pairs) // PAIR - 1
    place = np.int64(np.uint64(pair) * _MULTIPLIER >> _THIRTY_TWO) & mask
    while pairs[place * PAIR] != pair and pairs[place * PAIR] != _EMPTY:
        place = (place + 1) & mask
    return place * PAIR


@part
def raise_pair(pairs, pair, times, piece, places, touched, counters):  # type: ignore[no-untyped-def]
    """Count a pair seen in a piece, and note the place. The first time in a step, list it as touched."""
    slot = find_pair(pairs, pair)
    if pairs[slot] == _EMPTY:
        pairs[slot], pairs[slot + 1], pairs[slot + 2], pairs[slot + 3] = pair, 0, _EMPTY, _EMPTY
        counters[PAIRS] += 1
    pairs[slot + 1] += times
    last = pairs[slot + 2]
    if last == _EMPTY or places[2 * last] != piece:
        here = counters[PLACES]
        places[2 * here], places[2 * here + 1] = piece, last
        pairs[slot + 2] = here
        counters[PLACES] += 1
    if pairs[slot + 3] != counters[MERGES]:
        pairs[slot + 3] = counters[MERGES]
        touched[counters[TOUCHED]] = pair
        counters[TOUCHED] += 1


@part
def place_candidate(heap, hole, size, count, pair):  # type: ignore[no-untyped-def]
    """Put a pair into a hole of the heap: let it rise, and if it does not, sink, until the best still comes first."""
    while hole > 0:
        parent = (hole - 1) >> 1
        if heap[2 * parent] > count or (heap[2 * parent] == count and heap[2 * parent + 1] < pair):
            break
        heap[2 * hole], heap[2 * hole + 1] = heap[2 * parent], heap[2 * parent + 1]
        hole = parent
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        best, other = heap[2 * child], heap[2 * child + 2] if child + 1 < size else _EMPTY
        if other > best or (other == best and heap[2 * child + 3] < heap[2 * child + 1]):
            child += 1
            best = other
        if best < count or (best == count and heap[2 * child + 1] > pair):
            break
        heap[2 * hole], heap[2 * hole + 1] = best, heap[2 * child + 1]
        hole = child
    heap[2 * hole], heap[2 * hole + 1] = count, pair


@part
def spell(left, right, store, ends, spellings, counters):  # type: ignore[no-untyped-def]
    """The id of the token that two tokens spell together: a new one, unless it has been spelled before."""
    token = counters[TOKENS]
    start = end = ends[token - 1]
    digest = np.uint64(0)
    for half in range(2):
        part = right if half else left
        for position in range(ends[part - 1] if part > 0 else 0, ends[part]):
            store[end] = store[position]
            digest = (digest ^ np.uint64(store[end])) * _MULTIPLIER
            end += 1
    mask = len(spellings) - 1
    place = np.int64(digest >> _THIRTY_TWO) & mask
    while spellings[place] != _EMPTY:
        known = spellings[place]
        if ends[known] - ends[known - 1] == end - start:
            index = 0
            while start + index < end and store[ends[known - 1] + index] == store[start + index]:
                index += 1
            if start + index == end:
                return known
        place = (place + 1) & mask
    spellings[place] = token
    ends[token] = end
    counters[TOKENS] = token + 1
    return token


@kernel
def count_pairs(symbols, ends, times, pairs, places, touched, counters, piece):  # type: ignore[no-untyped-def]
    """Count the pairs of the pieces from one on; returns the piece for which the table had no room, or the end."""
    while piece < len(ends):
        start = ends[piece - 1] if piece > 0 else 0
        if (counters[PAIRS] + ends[piece] - start) * 2 * PAIR > len(pairs):
            break
        for position in range(start, ends[piece] - 1):
            pair = np.int64(symbols[position]) << 32 | symbols[position + 1]
            raise_pair(pairs, pair, times[piece], piece, places, touched, counters)
        piece += 1
    return piece


@kernel
def list_touched(pairs, touched, heap, counters):  # type: ignore[no-untyped-def]
    """Make candidates of all pairs whose count has grown."""
    for index in range(counters[TOUCHED]):
        count = pairs[find_pair(pairs, touched[index]) + 1]
        if count > 0:
            counters[CANDIDATES] += 1
            place_candidate(heap, counters[CANDIDATES] - 1, counters[CANDIDATES], count, touched[index])
    counters[TOUCHED] = 0


@part
def merge_in_piece(  # type: ignore[no-untyped-def]
    symbols, start, length, pair, token, times, piece, pairs, places, touched, counters
):
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
                raise_pair(pairs, before << 32 | token, times, piece, places, touched, counters)
            if read + 2 < stop:
                after = np.int64(symbols[read + 2])
                pairs[find_pair(pairs, right << 32 | after) + 1] -= times
                raise_pair(pairs, token << 32 | after, times, piece, places, touched, counters)
            read += 1
        symbols[write] = symbol
        write += 1
        read += 1
    return write - start


@kernel
def learn_steps(  # type: ignore[no-untyped-def]
    symbols, starts, lengths, times, pairs, places, touched, heap, store, ends, spellings, merges, counters, most
):
    """Merge until there are `most` tokens, no candidate is left, or one more step might not find room."""
    while counters[TOKENS] < most and counters[CANDIDATES] > 0:
        # A step makes only pairs with its own token in them, on the left or on the right of any other.
        new_pairs = 2 * counters[TOKENS] + 2
        if (counters[PAIRS] + new_pairs) * 2 * PAIR > len(pairs) or counters[MERGES] * 3 >= len(merges):
            break
        if (counters[CANDIDATES] + new_pairs) * 2 > len(heap) or ends[counters[TOKENS] - 1] * 3 > len(store):
            break
        pair = heap[1]
        slot = find_pair(pairs, pair)
        count = pairs[slot + 1]
        if count > 0 and count != heap[0]:  # Other merges have taken some of its occurrences since it was listed.
            place_candidate(heap, _TOP, counters[CANDIDATES], count, pair)
            continue
        counters[CANDIDATES] -= 1
        last = counters[CANDIDATES]
        place_candidate(heap, _TOP, last, heap[2 * last], heap[2 * last + 1])
        if count <= 0:
            continue
        left, right = pair >> 32, pair & 0xFFFFFFFF
        token = spell(left, right, store, ends, spellings, counters)
        step = counters[MERGES]
        merges[3 * step], merges[3 * step + 1], merges[3 * step + 2] = left, right, token
        place = pairs[slot + 2]
        pairs[slot + 2] = _EMPTY
        while place != _EMPTY:
            piece = np.int64(places[2 * place])
            place = np.int64(places[2 * place + 1])
            lengths[piece] = merge_in_piece(
                symbols,
                starts[piece],
                lengths[piece],
                pair,
                token,
                times[piece],
                piece,
                pairs,
                places,
                touched,
                counters,
            )
        pairs[slot + 1] = 0
        list_touched(pairs, touched, heap, counters)
        counters[MERGES] = step + 1


@kernel
def move_pairs(old, new):  # type: ignore[no-untyped-def]
    """Put the pairs of one table into another, larger one."""
    for slot in range(0, len(old), PAIR):
        if old[slot] != _EMPTY:
            place = find_pair(new, old[slot])
            for word in range(PAIR):
                new[place + word] = old[slot + word]


def learn(
    pieces: bytes,
    piece_ends: np.ndarray,
    times: np.ndarray,
    alphabet: np.ndarray,
    most: int,
    report: Callable[[int], None] = lambda tokens: None,
) -> tuple[list[tuple[int, int, int]], int]:
    """The merges (left id, right id, id) that give `most` tokens, or as many as can be had; and that number.

    `pieces` are the bytes of all pieces on end. `alphabet` gives the first 256 tokens their bytes: token i is the one
    byte `alphabet[i]`. No pair is merged across the end of a piece.
    """
    token_of = np.empty(256, np.int32)
    token_of[alphabet] = np.arange(256)
    symbols = token_of[np.frombuffer(pieces, np.uint8)]
    lengths = np.diff(piece_ends, prepend=0)
    starts = piece_ends - lengths
    counters = np.zeros(6, np.int64)
    # A piece of n bytes notes n - 1 places at first, and each of at most n - 1 merges in it two more.
    places = np.empty(2 * 3 * max(1, len(symbols)), np.int32)
    touched = np.empty(max(1 << 16, 2 * most + 2), np.int64)
    pairs = np.full(PAIR << 14, _EMPTY, np.int64)
    piece = 0
    counters[MERGES] = -2  # Any step but those to come and `_EMPTY`: the first counts are touched too.
    while (piece := count_pairs(symbols, piece_ends, times, pairs, places, touched, counters, piece)) < len(times):
        pairs = _doubled(pairs)
        touched = np.resize(touched, max(len(touched), len(pairs) // PAIR))
    heap = np.empty(4 * counters[TOUCHED] + 2, np.int64)
    list_touched(pairs, touched, heap, counters)
    counters[TOKENS], counters[MERGES] = 256, 0
    spellings = np.full(1 << (2 * most + 1).bit_length(), _EMPTY, np.int32)
    ends = np.zeros(most + 256, np.int64)
    ends[:256] = np.arange(1, 257)
    store = np.resize(alphabet.astype(np.uint8), 1 << 16)
    merges = np.empty(3 * most, np.int64)
    while counters[TOKENS] < most and counters[CANDIDATES] > 0:
        stop = min(most, int(counters[TOKENS]) + REPORT_EVERY)
        learn_steps(
            symbols,
            starts,
            lengths,
            times,
            pairs,
            places,
            touched,
            heap,
            store,
            ends,
            spellings,
            merges,
            counters,
            stop,
        )
        report(int(counters[TOKENS]))
        new_pairs = 2 * int(counters[TOKENS] + REPORT_EVERY)
        while (counters[PAIRS] + new_pairs) * 2 * PAIR > len(pairs):
            pairs = _doubled(pairs)
        heap = _with_room(heap, 2 * int(counters[CANDIDATES] + new_pairs))
        store = _with_room(store, 3 * int(ends[counters[TOKENS] - 1]))
        merges = _with_room(merges, 3 * int(counters[MERGES] + 1))
    learned: dict[tuple[int, int], int] = {}
    for left, right, token in merges[: 3 * counters[MERGES]].reshape(-1, 3).tolist():
        # A pair can come up again, when one of its parts has been spelled in another way. It has one rank, the last.
        learned.pop((left, right), None)
        learned[left, right] = token
    return [(left, right, token) for (left, right), token in learned.items()], int(counters[TOKENS])


def _doubled(pairs: np.ndarray) -> np.ndarray:
    """The same pairs in a table of twice the size."""
    larger = np.full(2 * len(pairs), _EMPTY, np.int64)
    move_pairs(pairs, larger)
    return larger


def _with_room(array: np.ndarray, needed: int) -> np.ndarray:
    """The array, or if it is shorter than needed, a longer one that begins with it."""
    return array if needed <= len(array) else np.concatenate((array, np.empty(2 * needed - len(array), array.dtype)))
