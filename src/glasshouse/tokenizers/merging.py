"""How one piece of text becomes ids: merges by rank; knows nothing of splitting text or of learning merges.

The definition: while any two neighbours form a known pair, merge the pair of lowest rank, the leftmost if it occurs twice.
A short piece is done just so. For a long one that would take quadratic time (a megabyte of one letter is one piece), so
there the candidates wait in a heap.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numba import njit

SHORT: Final = 48
"""The longest piece, in bytes, for which looking at every neighbour is cheaper than keeping a heap."""

SCRATCH: Final = 8
"""Words of working memory for each byte of a piece."""

_NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW = np.uint64(0xFFFFFFFF)
_THIRTY_TWO = np.uint64(32)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


def merge_table(merges: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """A hash table of pairs: key, then `rank << 32 | id`. A merge is left id, right id, id; its place is its rank."""
    capacity = 4
    while capacity < 2 * len(merges):
        capacity *= 2
    table = np.full(2 * capacity, _NOTHING, np.uint64)
    if merges:
        left, right, made = np.asarray(merges, np.uint64).T
        _fill_merge_table(table, left << _THIRTY_TWO | right, made)
    return table


@njit(cache=True, nogil=True)
def _fill_merge_table(table, keys, made):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(table) // 2 - 1)
    for rank in range(len(keys)):
        place = (keys[rank] * _MULTIPLIER >> _THIRTY_TWO) & mask
        while table[np.int64(place) * 2] != _NOTHING and table[np.int64(place) * 2] != keys[rank]:
            place = (place + _ONE) & mask
        table[np.int64(place) * 2] = keys[rank]
        table[np.int64(place) * 2 + 1] = np.uint64(rank) << _THIRTY_TWO | made[rank]


@njit(cache=True, nogil=True)
def find_merge(table, left, right):  # type: ignore[no-untyped-def]
    """`rank << 32 | id` of a pair, or all ones: larger than any rank."""
    key = left << _THIRTY_TWO | right
    mask = np.uint64(len(table) // 2 - 1)
    place = (key * _MULTIPLIER >> _THIRTY_TWO) & mask
    while True:
        found = table[np.int64(place) * 2]
        if found == key:
            return table[np.int64(place) * 2 + 1]
        if found == _NOTHING:
            return _NOTHING
        place = (place + _ONE) & mask


@njit(cache=True, nogil=True)
def merge_short(ids, candidates, count, table):  # type: ignore[no-untyped-def]
    """Merge `count` ids in place, looking at every neighbour each time; returns how many are left."""
    for index in range(count - 1):
        candidates[index] = find_merge(table, ids[index], ids[index + 1])
    while count > 1:
        best, where = _NOTHING, 0
        for index in range(count - 1):
            if candidates[index] < best:
                best, where = candidates[index], index
        if best == _NOTHING:
            break
        count -= 1
        ids[where] = best & _LOW
        for index in range(where + 1, count):
            ids[index] = ids[index + 1]
            candidates[index - 1] = candidates[index]
        if where > 0:
            candidates[where - 1] = find_merge(table, ids[where - 1], ids[where])
        if where < count - 1:
            candidates[where] = find_merge(table, ids[where], ids[where + 1])
    return count


@njit(cache=True, nogil=True)
def push(heap, size, entry):  # type: ignore[no-untyped-def]
    """Add to a binary heap whose smallest entry comes first."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = entry


@njit(cache=True, nogil=True)
def pop(heap, size):  # type: ignore[no-untyped-def]
    """Take the smallest entry out of a heap of `size` entries."""
    smallest, entry = heap[0], heap[size - 1]
    size -= 1
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = entry
    return smallest


@njit(cache=True, nogil=True)
def merge_long(ids, scratch, count, table):  # type: ignore[no-untyped-def]
    """The same, with a heap of `rank << 32 | position`. An entry whose pair has changed since is passed over."""
    candidates = scratch[:count]
    before = scratch[count : 2 * count]
    after = scratch[2 * count : 3 * count]
    heap = scratch[3 * count :]
    size = 0
    for index in range(count):
        before[index] = np.uint64(index) - _ONE  # The first has none: it wraps round to a number beyond every index.
        after[index] = np.uint64(index + 1)
        candidates[index] = _NOTHING
        if index + 1 < count:
            candidates[index] = find_merge(table, ids[index], ids[index + 1])
        if candidates[index] != _NOTHING:
            push(heap, size, candidates[index] >> _THIRTY_TWO << _THIRTY_TWO | np.uint64(index))
            size += 1
    while size > 0:
        entry = pop(heap, size)
        size -= 1
        here = np.int64(entry & _LOW)
        if candidates[here] == _NOTHING or candidates[here] >> _THIRTY_TWO != entry >> _THIRTY_TWO:
            continue
        gone = np.int64(after[here])
        ids[here] = candidates[here] & _LOW
        candidates[gone] = _NOTHING
        candidates[here] = _NOTHING
        after[here] = after[gone]
        if after[here] < np.uint64(count):
            before[np.int64(after[here])] = np.uint64(here)
            candidates[here] = find_merge(table, ids[here], ids[np.int64(after[here])])
            if candidates[here] != _NOTHING:
                push(heap, size, candidates[here] >> _THIRTY_TWO << _THIRTY_TWO | np.uint64(here))
                size += 1
        if before[here] < np.uint64(count):
            left = np.int64(before[here])
            candidates[left] = find_merge(table, ids[left], ids[here])
            if candidates[left] != _NOTHING:
                push(heap, size, candidates[left] >> _THIRTY_TWO << _THIRTY_TWO | np.uint64(left))
                size += 1
    kept, here = 0, 0
    while here < count:
        ids[kept] = ids[here]
        kept += 1
        here = np.int64(after[here])
    return kept


@njit(cache=True, nogil=True)
def merge_piece(text, start, end, byte_ids, table, scratch):  # type: ignore[no-untyped-def]
    """The ids of one piece, left at the front of `scratch`; returns how many. A byte without an id (-1) is left out."""
    count = 0
    for position in range(start, end):
        if byte_ids[text[position]] >= 0:
            scratch[count] = np.uint64(byte_ids[text[position]])
            count += 1
    if count <= SHORT:
        return merge_short(scratch[:count], scratch[count:], count, table)
    return merge_long(scratch[:count], scratch[count:], count, table)
