"""Sets of characters as trees of UTF-8 bytes. Knows nothing of grammars."""

import functools
from typing import Any, Final

# The last code point that is encoded in 1, 2, 3 and 4 bytes.
_LAST: Final = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)

Branches = tuple[tuple[int, Any], ...]
"""Pairs (bytes, branches after these bytes). The bytes are a bit set: bit b stands for the byte b. () is the end."""


@functools.lru_cache(maxsize=4096)
def utf8_branches(ranges: tuple[tuple[int, int], ...]) -> Branches:
    """The tree of the encodings of these characters, in which no two branches of a node share a byte.

    The ranges are in order, without overlap and without surrogates.
    """
    return _merged([encoding for first, last in ranges for encoding in _byte_ranges(first, last)])


def _byte_ranges(first: int, last: int) -> list[tuple[tuple[int, int], ...]]:
    """The encodings of consecutive characters, as sequences of byte ranges."""
    for limit in _LAST:
        if first <= limit < last:
            return _byte_ranges(first, limit) + _byte_ranges(limit + 1, last)
    if last <= _LAST[0]:
        return [((first, last),)]
    # Split so that the bytes after the first one that differs run through all continuation bytes.
    for continuation_bytes in (1, 2, 3):
        block = 1 << (6 * continuation_bytes)
        if first // block != last // block:
            if first % block:
                boundary = (first // block + 1) * block
                return _byte_ranges(first, boundary - 1) + _byte_ranges(boundary, last)
            if (last + 1) % block:
                boundary = last // block * block
                return _byte_ranges(first, boundary - 1) + _byte_ranges(boundary, last)
    return [tuple(zip(chr(first).encode(), chr(last).encode(), strict=True))]


def _merged(encodings: list[tuple[tuple[int, int], ...]]) -> Branches:
    """Sequences of byte ranges as a tree. Their first ranges are equal or have no byte in common."""
    by_first: dict[tuple[int, int], list[tuple[tuple[int, int], ...]]] = {}
    for first, *rest in encodings:
        by_first.setdefault(first, []).append(tuple(rest))
    by_rest: dict[Branches, int] = {}
    for (low, high), rests in by_first.items():
        after = _merged([rest for rest in rests if rest])
        by_rest[after] = by_rest.get(after, 0) | ((1 << (high + 1)) - (1 << low))
    return tuple((bits, after) for after, bits in by_rest.items())
