"""Operations on eight bytes of text as one 64-bit word, with the first byte in the lowest bits.

A loop over single bytes has one branch for each byte, and the processor mispredicts the branch at the end of every word of
text. Here, a few additions find the end of a sequence of ASCII letters within eight bytes without a branch.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from glasshouse.compilation import kernel_only

HIGH_BITS = np.uint64(0x8080808080808080)
_CASE_BITS = np.uint64(0x2020202020202020)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_TO_REACH_A = np.uint64(0x0101010101010101 * (0x80 - ord("a")))
_TO_PASS_Z = np.uint64(0x0101010101010101 * (0x80 - ord("z") - 1))
_BYTE_INDICES = np.uint64(0x0001020304050607)
_ZERO, _ONE, _SEVEN, _EIGHT, _FIFTY_SIX = (np.uint64(number) for number in (0, 1, 7, 8, 56))


@intrinsic
def load_word(typing_context: Any, text: Any, position: Any) -> Any:
    """The eight bytes from a position on. The position need not be aligned; all eight bytes must be within the text."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, types.int64), generate


@kernel_only
def non_letter_bits(word):  # type: ignore[no-untyped-def]
    """A word with the high bit set in every byte that is not an ASCII letter."""
    lower = (word | _CASE_BITS) & _LOW_BITS
    return ~((lower + _TO_REACH_A) & ~(lower + _TO_PASS_Z) & ~word) & HIGH_BITS


@kernel_only
def lowest_marked_byte(high_bits):  # type: ignore[no-untyped-def]
    """The index of the lowest byte whose high bit is set, and a mask of all bytes before it."""
    unit = (high_bits & (~high_bits + _ONE)) >> _SEVEN
    return np.int64(unit * _BYTE_INDICES >> _FIFTY_SIX), unit - _ONE


@kernel_only
def pack_bytes(text, start, end):  # type: ignore[no-untyped-def]
    """Up to eight bytes as one word, read one by one. Near the end of a text, `load_word` would read beyond it."""
    word = _ZERO
    for position in range(end - 1, start - 1, -1):
        word = word << _EIGHT | np.uint64(text[position])
    return word
