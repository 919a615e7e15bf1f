"""Training of byte-pair encoding: which pairs to merge, from the frequencies of pieces. Knows nothing of splitting text.

Each step merges the most frequent pair of neighbouring tokens. Ties go to the pair with the smallest left id, then to the
one with the smallest right id. The `tokenizers` package has the same rule, so both learn the same merges. Counts are 64-bit
integers and are updated incrementally: a merge visits only the pieces that contain its pair.

If a merge spells a token that exists already (`a`+`bc` after `ab`+`c`), it produces that token, since a vocabulary contains
each spelling once. There may therefore be more merges than new tokens.

Memory: for each byte of the distinct pieces, 4 bytes for its token and up to 24 bytes for the occurrences of pairs; 64 bytes
for each distinct pair.
"""

import heapq
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types
from numba.typed import List

from glasshouse.compilation import kernel, kernel_only

PAIR_WORDS: Final = 4
"""Words in the slot of a pair: the pair (`left << 32 | right`), its count, its last occurrence, and the last step that
increased its count. The occurrences of a pair form a linked list: each is a piece and the index of the occurrence before."""

PAIRS, OCCURRENCES, TOKENS, MERGES = range(4)
"""The entries of `counters`."""

REPORT_EVERY: Final = 1 << 10
"""New tokens between two progress reports."""

_EMPTY = np.int64(-1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_THIRTY_TWO = np.uint64(32)


class Pieces(NamedTuple):
    """The tokens of all pieces; for each piece its start, the number of its tokens, and how often it occurs."""

    symbols: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    frequencies: np.ndarray


class Pairs(NamedTuple):
    """The hash table of pairs, their occurrences, and the pairs whose count has increased in this step.

    `candidates` is a heap of (-count, pair): the most frequent pair comes first, and of several the smallest.
    """

    slots: np.ndarray
    occurrences: np.ndarray
    changed: Any
    counters: np.ndarray
    candidates: Any


class Spellings(NamedTuple):
    """The bytes of all tokens one after the other, where each token ends, and the hash table of tokens by their bytes."""

    bytes: np.ndarray
    ends: np.ndarray
    slots: np.ndarray


@kernel_only
def find_pair_slot(pairs, pair):
    """The index of a pair's slot in the hash table, or of the empty slot in which to insert it."""
    mask = len(pairs) // PAIR_WORDS - 1
    index = np.int64(np.uint64(pair) * _MULTIPLIER >> _THIRTY_TWO) & mask
    while pairs[index * PAIR_WORDS] != pair and pairs[index * PAIR_WORDS] != _EMPTY:
        index = (index + 1) & mask
    return index * PAIR_WORDS


@kernel_only
def count_pair(pairs, pair, frequency, piece):
    """Count a pair in a piece and record the occurrence. The first change in a step adds the pair to `changed`."""
    slots, occurrences, counters = pairs.slots, pairs.occurrences, pairs.counters
    slot = find_pair_slot(slots, pair)
    if slots[slot] == _EMPTY:
        slots[slot], slots[slot + 1], slots[slot + 2], slots[slot + 3] = pair, 0, _EMPTY, _EMPTY
        counters[PAIRS] += 1
    slots[slot + 1] += frequency
    last = slots[slot + 2]
    if last == _EMPTY or occurrences[2 * last] != piece:
        new = counters[OCCURRENCES]
        occurrences[2 * new], occurrences[2 * new + 1] = piece, last
        slots[slot + 2] = new
        counters[OCCURRENCES] += 1
    if slots[slot + 3] != counters[MERGES]:
        slots[slot + 3] = counters[MERGES]
        pairs.changed.append(pair)


@kernel_only
def spell_token(left, right, spellings, counters):
    """The id of the token that two tokens spell together. It is a new id unless a token with this spelling exists."""
    spelled, ends, slots = spellings.bytes, spellings.ends, spellings.slots
    token = counters[TOKENS]
    start = end = ends[token - 1]
    digest = np.uint64(0)
    for half in range(2):
        half_token = right if half else left
        for position in range(ends[half_token - 1] if half_token > 0 else 0, ends[half_token]):
            spelled[end] = spelled[position]
            digest = (digest ^ np.uint64(spelled[end])) * _MULTIPLIER
            end += 1
    mask = len(slots) - 1
    slot = np.int64(digest >> _THIRTY_TWO) & mask
    while slots[slot] != _EMPTY:
        known = slots[slot]
        if ends[known] - ends[known - 1] == end - start:
            index = 0
            while start + index < end and spelled[ends[known - 1] + index] == spelled[start + index]:
                index += 1
            if start + index == end:
                return known
        slot = (slot + 1) & mask
    slots[slot] = token
    ends[token] = end
    counters[TOKENS] = token + 1
    return token


@kernel
def count_pairs(pieces, pairs, piece):
    """Count the pairs of all pieces from `piece` on. Returns the first piece that the table has no room for, or the end."""
    symbols = pieces.symbols
    while piece < len(pieces.starts):
        start, length = pieces.starts[piece], pieces.lengths[piece]
        if (pairs.counters[PAIRS] + length) * 2 * PAIR_WORDS > len(pairs.slots):
            break
        for position in range(start, start + length - 1):
            pair = np.int64(symbols[position]) << 32 | symbols[position + 1]
            count_pair(pairs, pair, pieces.frequencies[piece], piece)
        piece += 1
    return piece


@kernel
def push_changed_pairs(pairs):
    """Add all changed pairs with a positive count to the candidates."""
    for pair in pairs.changed:
        count = pairs.slots[find_pair_slot(pairs.slots, pair) + 1]
        if count > 0:
            heapq.heappush(pairs.candidates, (-count, pair))
    pairs.changed.clear()


@kernel_only
def merge_in_piece(pieces, piece, pairs, pair, token):
    """Merge a pair wherever it occurs in a piece, from left to right, and update all counts."""
    symbols, slots, frequency = pieces.symbols, pairs.slots, pieces.frequencies[piece]
    left, right = pair >> 32, pair & 0xFFFFFFFF
    start = pieces.starts[piece]
    read = write = start
    stop = start + pieces.lengths[piece]
    while read < stop:
        symbol = np.int64(symbols[read])
        if symbol == left and read + 1 < stop and symbols[read + 1] == right:
            symbol = token
            if write > start:
                before = np.int64(symbols[write - 1])
                slots[find_pair_slot(slots, before << 32 | left) + 1] -= frequency
                count_pair(pairs, before << 32 | token, frequency, piece)
            if read + 2 < stop:
                after = np.int64(symbols[read + 2])
                slots[find_pair_slot(slots, right << 32 | after) + 1] -= frequency
                count_pair(pairs, token << 32 | after, frequency, piece)
            read += 1
        symbols[write] = symbol
        write += 1
        read += 1
    pieces.lengths[piece] = write - start


@kernel
def learn_merge_steps(pieces, pairs, spellings, merges, max_tokens):
    """Merge until there are `max_tokens` tokens, no candidate is left, or the arrays may be too small for another step."""
    slots, counters, candidates = pairs.slots, pairs.counters, pairs.candidates
    while counters[TOKENS] < max_tokens and len(candidates) > 0:
        # All new pairs of a step contain its new token, as the left or as the right token.
        new_pairs = 2 * counters[TOKENS] + 2
        if (counters[PAIRS] + new_pairs) * 2 * PAIR_WORDS > len(slots):
            break
        if spellings.ends[counters[TOKENS] - 1] * 3 > len(spellings.bytes):
            break
        negative_count, pair = candidates[0]
        slot = find_pair_slot(slots, pair)
        count = slots[slot + 1]
        if count > 0 and count != -negative_count:  # Other merges have consumed occurrences since the pair was pushed.
            heapq.heapreplace(candidates, (-count, pair))
            continue
        heapq.heappop(candidates)
        if count <= 0:
            continue
        left, right = pair >> 32, pair & 0xFFFFFFFF
        token = spell_token(left, right, spellings, counters)
        merges.append((left, right, token))
        occurrence = slots[slot + 2]
        slots[slot + 2] = _EMPTY
        while occurrence != _EMPTY:
            piece = np.int64(pairs.occurrences[2 * occurrence])
            occurrence = np.int64(pairs.occurrences[2 * occurrence + 1])
            merge_in_piece(pieces, piece, pairs, pair, token)
        slots[slot + 1] = 0
        push_changed_pairs(pairs)
        counters[MERGES] += 1


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
    counted = Pieces(symbols, piece_ends - lengths, lengths, frequencies)
    counters = np.zeros(4, np.int64)
    counters[MERGES] = -2  # Differs from `_EMPTY` and from all later steps, so that the first counts are changes too.
    pairs = Pairs(
        np.full(PAIR_WORDS << 14, _EMPTY, np.int64),
        # A piece of n bytes starts with n - 1 occurrences, and each of its at most n - 1 merges adds two.
        np.empty(2 * 3 * max(1, len(symbols)), np.int32),
        List.empty_list(types.int64),
        counters,
        List.empty_list(types.UniTuple(types.int64, 2)),
    )
    piece = 0
    while (piece := count_pairs(counted, pairs, piece)) < len(frequencies):
        pairs = _doubled(pairs)
    push_changed_pairs(pairs)
    counters[TOKENS], counters[MERGES] = 256, 0
    spellings = Spellings(
        np.resize(alphabet.astype(np.uint8), 1 << 16),
        np.concatenate((np.arange(1, 257), np.zeros(max_tokens, np.int64))),
        np.full(1 << (2 * max_tokens + 1).bit_length(), _EMPTY, np.int32),
    )
    merges = List.empty_list(types.UniTuple(types.int64, 3))
    while counters[TOKENS] < max_tokens and pairs.candidates:
        stop = min(max_tokens, int(counters[TOKENS]) + REPORT_EVERY)
        learn_merge_steps(counted, pairs, spellings, merges, stop)
        report(int(counters[TOKENS]))
        new_pairs = 2 * int(counters[TOKENS] + REPORT_EVERY)
        while (counters[PAIRS] + new_pairs) * 2 * PAIR_WORDS > len(pairs.slots):
            pairs = _doubled(pairs)
        if (needed := 3 * int(spellings.ends[counters[TOKENS] - 1])) > len(spellings.bytes):
            spellings = spellings._replace(bytes=np.resize(spellings.bytes, 2 * needed))
    learned: dict[tuple[int, int], int] = {}
    for left, right, token in merges:
        # A pair can be merged again after one of its tokens has been spelled by other merges. Its last rank counts.
        learned.pop((left, right), None)
        learned[left, right] = token
    return [(left, right, token) for (left, right), token in learned.items()], int(counters[TOKENS])


def _doubled(pairs: Pairs) -> Pairs:
    slots = np.full(2 * len(pairs.slots), _EMPTY, np.int64)
    rehash_pairs(pairs.slots, slots)
    return pairs._replace(slots=slots)
