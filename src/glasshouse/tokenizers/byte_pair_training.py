"""Training of byte-pair encoding: which pairs to merge, from the frequencies of pieces. Knows nothing of splitting text.

Each step merges the most frequent pair of neighbouring tokens. Ties go to the pair with the smallest left id, then to the
one with the smallest right id. The `tokenizers` package has the same rule, so both learn the same merges. Counts are 64-bit
integers and are updated incrementally: a merge visits only the pieces that contain its pair.

If a merge spells a token that exists already (`a`+`bc` after `ab`+`c`), it produces that token, since a vocabulary contains
each spelling once. There may therefore be more merges than new tokens.

Memory: for each byte of the distinct pieces, 4 bytes for its token and up to 24 bytes for the occurrences of pairs; 64 bytes
for each distinct pair.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from glasshouse.compilation import kernel, kernel_only

PAIR_WORDS: Final = 4
"""Words in the slot of a pair: the pair (`left << 32 | right`), its count, its last occurrence, and the last step that
increased its count. The occurrences of a pair form a linked list: each is a piece and the index of the occurrence before."""

PAIRS, OCCURRENCES, CANDIDATES, TOKENS, MERGES, CHANGED = range(6)
"""The entries of `counters`."""

REPORT_EVERY: Final = 1 << 10
"""New tokens between two progress reports."""

_EMPTY, _ROOT = np.int64(-1), np.int64(0)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_THIRTY_TWO = np.uint64(32)


@kernel_only
def find_pair_slot(pairs, pair):
    """The index of a pair's slot in the hash table, or of the empty slot in which to insert it."""
    mask = len(pairs) // PAIR_WORDS - 1
    index = np.int64(np.uint64(pair) * _MULTIPLIER >> _THIRTY_TWO) & mask
    while pairs[index * PAIR_WORDS] != pair and pairs[index * PAIR_WORDS] != _EMPTY:
        index = (index + 1) & mask
    return index * PAIR_WORDS


@kernel_only
def count_pair(pairs, pair, frequency, piece, occurrences, changed, counters):
    """Count a pair in a piece and record the occurrence. The first change in a step adds the pair to `changed`."""
    slot = find_pair_slot(pairs, pair)
    if pairs[slot] == _EMPTY:
        pairs[slot], pairs[slot + 1], pairs[slot + 2], pairs[slot + 3] = pair, 0, _EMPTY, _EMPTY
        counters[PAIRS] += 1
    pairs[slot + 1] += frequency
    last = pairs[slot + 2]
    if last == _EMPTY or occurrences[2 * last] != piece:
        new = counters[OCCURRENCES]
        occurrences[2 * new], occurrences[2 * new + 1] = piece, last
        pairs[slot + 2] = new
        counters[OCCURRENCES] += 1
    if pairs[slot + 3] != counters[MERGES]:
        pairs[slot + 3] = counters[MERGES]
        changed[counters[CHANGED]] = pair
        counters[CHANGED] += 1


@kernel_only
def heap_place(heap, hole, size, count, pair):
    """Put a candidate (count, pair) at the index `hole` of the max-heap, then sift it up or down to its place.

    A higher count comes first; ties go to the smaller pair.
    """
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


@kernel_only
def spell_token(left, right, token_bytes, token_ends, spellings, counters):
    """The id of the token that two tokens spell together. It is a new id unless a token with this spelling exists."""
    token = counters[TOKENS]
    start = end = token_ends[token - 1]
    digest = np.uint64(0)
    for half in range(2):
        half_token = right if half else left
        for position in range(token_ends[half_token - 1] if half_token > 0 else 0, token_ends[half_token]):
            token_bytes[end] = token_bytes[position]
            digest = (digest ^ np.uint64(token_bytes[end])) * _MULTIPLIER
            end += 1
    mask = len(spellings) - 1
    slot = np.int64(digest >> _THIRTY_TWO) & mask
    while spellings[slot] != _EMPTY:
        known = spellings[slot]
        if token_ends[known] - token_ends[known - 1] == end - start:
            index = 0
            while start + index < end and token_bytes[token_ends[known - 1] + index] == token_bytes[start + index]:
                index += 1
            if start + index == end:
                return known
        slot = (slot + 1) & mask
    spellings[slot] = token
    token_ends[token] = end
    counters[TOKENS] = token + 1
    return token


@kernel
def count_pairs(symbols, starts, lengths, frequencies, pairs, occurrences, changed, counters):
    for piece in range(len(starts)):
        for position in range(starts[piece], starts[piece] + lengths[piece] - 1):
            pair = np.int64(symbols[position]) << 32 | symbols[position + 1]
            count_pair(pairs, pair, frequencies[piece], piece, occurrences, changed, counters)


@kernel
def push_changed_pairs(pairs, changed, heap, counters):
    """Add all changed pairs with a positive count to the heap of candidates."""
    for index in range(counters[CHANGED]):
        count = pairs[find_pair_slot(pairs, changed[index]) + 1]
        if count > 0:
            counters[CANDIDATES] += 1
            heap_place(heap, counters[CANDIDATES] - 1, counters[CANDIDATES], count, changed[index])
    counters[CHANGED] = 0


@kernel_only
def merge_in_piece(symbols, start, length, pair, token, frequency, piece, pairs, occurrences, changed, counters):
    """Merge a pair wherever it occurs in a piece, from left to right, and update all counts. Returns the new length."""
    left, right = pair >> 32, pair & 0xFFFFFFFF
    read = write = start
    stop = start + length
    while read < stop:
        symbol = np.int64(symbols[read])
        if symbol == left and read + 1 < stop and symbols[read + 1] == right:
            symbol = token
            if write > start:
                before = np.int64(symbols[write - 1])
                pairs[find_pair_slot(pairs, before << 32 | left) + 1] -= frequency
                count_pair(pairs, before << 32 | token, frequency, piece, occurrences, changed, counters)
            if read + 2 < stop:
                after = np.int64(symbols[read + 2])
                pairs[find_pair_slot(pairs, right << 32 | after) + 1] -= frequency
                count_pair(pairs, token << 32 | after, frequency, piece, occurrences, changed, counters)
            read += 1
        symbols[write] = symbol
        write += 1
        read += 1
    return write - start


@kernel
def learn_merge_steps(of_pieces, pairs, occurrences, changed, heap, spelling, merges, counters, max_tokens):
    """Merge until there are `max_tokens` tokens, no candidate is left, or the arrays may be too small for another step."""
    symbols, starts, lengths, frequencies = of_pieces
    token_bytes, token_ends, spellings = spelling
    while counters[TOKENS] < max_tokens and counters[CANDIDATES] > 0:
        # All new pairs of a step contain its new token, as the left or as the right token.
        new_pairs = 2 * counters[TOKENS] + 2
        if (counters[PAIRS] + new_pairs) * 2 * PAIR_WORDS > len(pairs) or counters[MERGES] * 3 >= len(merges):
            break
        if (counters[CANDIDATES] + new_pairs) * 2 > len(heap) or token_ends[counters[TOKENS] - 1] * 3 > len(token_bytes):
            break
        pair = heap[1]
        slot = find_pair_slot(pairs, pair)
        count = pairs[slot + 1]
        if count > 0 and count != heap[0]:  # Other merges have consumed occurrences since the pair was pushed.
            heap_place(heap, _ROOT, counters[CANDIDATES], count, pair)
            continue
        counters[CANDIDATES] -= 1
        last = counters[CANDIDATES]
        heap_place(heap, _ROOT, last, heap[2 * last], heap[2 * last + 1])
        if count <= 0:
            continue
        left, right = pair >> 32, pair & 0xFFFFFFFF
        token = spell_token(left, right, token_bytes, token_ends, spellings, counters)
        step = counters[MERGES]
        merges[3 * step], merges[3 * step + 1], merges[3 * step + 2] = left, right, token
        occurrence = pairs[slot + 2]
        pairs[slot + 2] = _EMPTY
        while occurrence != _EMPTY:
            piece = np.int64(occurrences[2 * occurrence])
            occurrence = np.int64(occurrences[2 * occurrence + 1])
            of_piece = symbols, starts[piece], lengths[piece], pair, token, frequencies[piece], piece
            lengths[piece] = merge_in_piece(*of_piece, pairs, occurrences, changed, counters)
        pairs[slot + 1] = 0
        push_changed_pairs(pairs, changed, heap, counters)
        counters[MERGES] = step + 1


@kernel
def rehash_pairs(old, new):
    """Insert all pairs of a table into a larger one."""
    for slot in range(0, len(old), PAIR_WORDS):
        if old[slot] != _EMPTY:
            new_slot = find_pair_slot(new, old[slot])
            for word in range(PAIR_WORDS):
                new[new_slot + word] = old[slot + word]


def learn_merges(
    pieces: bytes,
    piece_ends: np.ndarray,
    frequencies: np.ndarray,
    alphabet: np.ndarray,
    max_tokens: int,
    report: Callable[[int], None] = lambda tokens: None,
) -> tuple[list[tuple[int, int, int]], int]:
    """Learn merges (left id, right id, merged id) until there are `max_tokens` tokens or no pair is left.

    Returns the merges and the number of tokens. `pieces` holds the bytes of all pieces, one after the other. The first 256
    tokens are single bytes: token i is the byte `alphabet[i]`. No merge crosses the end of a piece.
    """
    token_of_byte = np.empty(256, np.int32)
    token_of_byte[alphabet] = np.arange(256)
    symbols = token_of_byte[np.frombuffer(pieces, np.uint8)]
    lengths = np.diff(piece_ends, prepend=0)
    starts = piece_ends - lengths
    of_pieces = symbols, starts, lengths, frequencies
    counters = np.zeros(6, np.int64)
    # A piece of n bytes starts with n - 1 occurrences, and each of its at most n - 1 merges adds two.
    occurrences = np.empty(2 * 3 * max(1, len(symbols)), np.int32)
    changed = np.empty(max(1 << 16, 2 * max_tokens + 2), np.int64)
    distinct = int(np.count_nonzero(np.bincount(symbols[:-1] * 256 + symbols[1:])))
    pairs = np.full(PAIR_WORDS << max(14, (2 * distinct).bit_length()), _EMPTY, np.int64)
    counters[MERGES] = -2  # Differs from `_EMPTY` and from all later steps, so that the first counts are changes too.
    count_pairs(*of_pieces, pairs, occurrences, changed, counters)
    heap = np.empty(4 * counters[CHANGED] + 2, np.int64)
    push_changed_pairs(pairs, changed, heap, counters)
    counters[TOKENS], counters[MERGES] = 256, 0
    spellings = np.full(1 << (2 * max_tokens + 1).bit_length(), _EMPTY, np.int32)
    token_ends = np.zeros(max_tokens + 256, np.int64)
    token_ends[:256] = np.arange(1, 257)
    token_bytes = np.resize(alphabet.astype(np.uint8), 1 << 16)
    merges = np.empty(3 * max_tokens, np.int64)
    while counters[TOKENS] < max_tokens and counters[CANDIDATES] > 0:
        stop = min(max_tokens, int(counters[TOKENS]) + REPORT_EVERY)
        spelling = token_bytes, token_ends, spellings
        learn_merge_steps(of_pieces, pairs, occurrences, changed, heap, spelling, merges, counters, stop)
        report(int(counters[TOKENS]))
        new_pairs = 2 * int(counters[TOKENS] + REPORT_EVERY)
        while (counters[PAIRS] + new_pairs) * 2 * PAIR_WORDS > len(pairs):
            larger = np.full(2 * len(pairs), _EMPTY, np.int64)
            rehash_pairs(pairs, larger)
            pairs = larger
        heap = _with_room(heap, 2 * int(counters[CANDIDATES] + new_pairs))
        token_bytes = _with_room(token_bytes, 3 * int(token_ends[counters[TOKENS] - 1]))
        merges = _with_room(merges, 3 * int(counters[MERGES] + 1))
    learned: dict[tuple[int, int], int] = {}
    for left, right, token in merges[: 3 * counters[MERGES]].reshape(-1, 3).tolist():
        # A pair can be merged again after one of its tokens has been spelled by other merges. Its last rank counts.
        learned.pop((left, right), None)
        learned[left, right] = token
    return [(left, right, token) for (left, right), token in learned.items()], int(counters[TOKENS])


def _with_room(array: np.ndarray, needed: int) -> np.ndarray:
    """The array itself, or a longer copy if it has fewer than `needed` entries."""
    return array if needed <= len(array) else np.concatenate((array, np.empty(2 * needed - len(array), array.dtype)))
