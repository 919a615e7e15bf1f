"""How one piece of text becomes ids: merges by rank; knows nothing of splitting text or of learning merges.

The definition: while any two neighbours form a known pair, merge the pair of lowest rank, the leftmost if it occurs
twice. A short piece is done just so. For a long one that would take quadratic time (a megabyte of one letter is one
piece), so there the candidates wait in a heap.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from glasshouse.tokenizers.compilation import kernel, part

SHORT: Final = 48
"""The longest piece, in bytes, for which looking at every neighbour is cheaper than keeping a heap."""

WORK: Final = 8
"""Words of working memory for each byte of a long piece: four, and at most three entries in the heap."""

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


@kernel
def _fill_merge_table(table, keys, made):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(table) // 2 - 1)
    for rank in range(len(keys)):
        place = (keys[rank] * _MULTIPLIER >> _THIRTY_TWO) & mask
        while table[np.int64(place) * 2] != _NOTHING and table[np.int64(place) * 2] != keys[rank]:
            place = (place + _ONE) & mask
        table[np.int64(place) * 2] = keys[rank]
        table[np.int64(place) * 2 + 1] = np.uint64(rank) << _THIRTY_TWO | made[rank]


@part
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


@kernel
def merge_short(work, count, table):  # type: ignore[no-untyped-def]
    """Merge the ids at the front of `work`, looking at every neighbour each time; returns how many are left."""
    for index in range(count - 1):
        work[SHORT + index] = find_merge(table, work[index], work[index + 1])
    while count > 1:
        best, where = _NOTHING, 0
        for index in range(count - 1):
            if work[SHORT + index] < best:
                best, where = work[SHORT + index], index
        if best == _NOTHING:
            break
        count -= 1
        work[where] = best & _LOW
        for index in range(where + 1, count):
            work[index] = work[index + 1]
            work[SHORT + index - 1] = work[SHORT + index]
        if where > 0:
            work[SHORT + where - 1] = find_merge(table, work[where - 1], work[where])
        if where < count - 1:
            work[SHORT + where] = find_merge(table, work[where], work[where + 1])
    return count


@part
def push(heap, bottom, size, entry):  # type: ignore[no-untyped-def]
    """Add to the binary heap that starts at `bottom`, whose smallest entry comes first."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[bottom + parent] <= entry:
            break
        heap[bottom + child] = heap[bottom + parent]
        child = parent
    heap[bottom + child] = entry


@part
def pop(heap, bottom, size):  # type: ignore[no-untyped-def]
    """Take the smallest entry out of the heap of `size` entries that starts at `bottom`."""
    smallest, entry = heap[bottom], heap[bottom + size - 1]
    size -= 1
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[bottom + child + 1] < heap[bottom + child]:
            child += 1
        if heap[bottom + child] >= entry:
            break
        heap[bottom + parent] = heap[bottom + child]
        parent = child
    heap[bottom + parent] = entry
    return smallest


@kernel
def merge_long(work, count, table):  # type: ignore[no-untyped-def]
    """The same, with a heap of `rank << 32 | position`.

    `work` holds, `count` of each: the ids; the merge of each with its right neighbour; the place before; the place
    after; and then the heap. A candidate whose merge is not that of its place any more is passed over.
    """
    merge, before, after, heap = count, 2 * count, 3 * count, 4 * count
    size = np.int64(0)
    for here in range(count):
        work[before + here] = np.uint64(here - 1)  # The first has none: this wraps round to beyond every place.
        work[after + here] = np.uint64(here + 1)
        work[merge + here] = _NOTHING
        if here + 1 < count:
            work[merge + here] = find_merge(table, work[here], work[here + 1])
            if work[merge + here] != _NOTHING:
                push(work, heap, size, work[merge + here] & ~_LOW | np.uint64(here))
                size += 1
    while size > 0:
        entry = pop(work, heap, size)
        size -= 1
        here = np.int64(entry & _LOW)
        if work[merge + here] == _NOTHING or work[merge + here] & ~_LOW != entry & ~_LOW:
            continue
        gone = np.int64(work[after + here])
        work[here] = work[merge + here] & _LOW
        work[merge + gone] = _NOTHING
        work[after + here] = work[after + gone]
        if work[after + here] < np.uint64(count):
            work[before + np.int64(work[after + here])] = np.uint64(here)
        for neighbour in (work[before + here], np.uint64(here)):
            # The pair that ends here has changed, and the pair that begins here.
            left = np.int64(neighbour)
            if neighbour < np.uint64(count):
                right = work[after + left]
                work[merge + left] = _NOTHING
                if right < np.uint64(count):
                    work[merge + left] = find_merge(table, work[left], work[np.int64(right)])
                    if work[merge + left] != _NOTHING:
                        push(work, heap, size, work[merge + left] & ~_LOW | neighbour)
                        size += 1
    kept, here = 0, 0
    while here < count:
        work[kept] = work[here]
        kept += 1
        here = np.int64(work[after + here])
    return kept


@kernel
def merge_piece(text, start, end, byte_ids, table, work):  # type: ignore[no-untyped-def]
    """The ids of one piece, left at the front of `work`; returns how many. A byte without an id (-1) is left out."""
    count = np.int64(0)
    for position in range(start, end):
        id = byte_ids[text[position]]
        if id >= 0:
            work[count] = np.uint64(id)
            count += 1
    return merge_short(work, count, table) if count <= SHORT else merge_long(work, count, table)
