"""Byte-pair encoding of one piece of text: merging pairs of tokens by rank. Knows nothing of splitting or training.

The definition: while any two neighbouring tokens form a known pair, merge the pair of lowest rank; if it occurs more than
once, merge the leftmost occurrence. For a short piece, each step scans all pairs. For a long piece, this would take
quadratic time (a megabyte of one letter is one piece), so a heap holds the candidates.
"""

import heapq
from collections.abc import Sequence
from typing import Final

import numpy as np

from glasshouse.compilation import kernel, kernel_only

SCAN_LIMIT: Final = 48
"""The longest piece, in bytes, for which scanning all pairs is cheaper than maintaining a heap."""

WORK_WORDS: Final = 4
"""64-bit words of working memory for each byte of a long piece."""

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
def merge_short(work, count, table):
    """Merge the `count` ids at the front of `work`, scanning all pairs in each step. Returns the number of ids left.

    `work[SCAN_LIMIT + index]` holds the merge of the ids at `index` and `index + 1`.
    """
    for index in range(count - 1):
        work[SCAN_LIMIT + index] = find_merge(table, work[index], work[index + 1])
    while count > 1:
        best, position = _NO_MERGE, 0
        for index in range(count - 1):
            if work[SCAN_LIMIT + index] < best:
                best, position = work[SCAN_LIMIT + index], index
        if best == _NO_MERGE:
            break
        count -= 1
        work[position] = best & _LOW_32_BITS
        for index in range(position + 1, count):
            work[index] = work[index + 1]
            work[SCAN_LIMIT + index - 1] = work[SCAN_LIMIT + index]
        if position > 0:
            work[SCAN_LIMIT + position - 1] = find_merge(table, work[position - 1], work[position])
        if position < count - 1:
            work[SCAN_LIMIT + position] = find_merge(table, work[position], work[position + 1])
    return count


@kernel
def merge_long(work, count, table):
    """Merge the `count` ids at the front of `work`, with a heap of `rank << 32 | position`. Returns the number of ids left.

    `work` holds four arrays of `count` words: the ids, the merge of each id with its right neighbour, the position of the
    previous id, and the position of the next id: a doubly linked list. A heap entry is skipped if the merge at its position
    has changed in the meantime.
    """
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


@kernel
def merge_piece(text, start, end, byte_ids, table, work):
    """Write the ids of one piece to the front of `work` and return their number. Bytes without an id (-1) are skipped."""
    count = np.int64(0)
    for position in range(start, end):
        id = byte_ids[text[position]]
        if id >= 0:
            work[count] = np.uint64(id)
            count += 1
    return merge_short(work, count, table) if count <= SCAN_LIMIT else merge_long(work, count, table)
