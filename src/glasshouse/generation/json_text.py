"""The expressions of JSON text: strings, numbers, lists and fixed values. Knows nothing of schemas.

The text is compact: no white space except at most one space after ':' and ','.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from glasshouse.generation.grammar import (
    EMPTY,
    CharacterSet,
    Expression,
    characters,
    choice,
    complement,
    intersection,
    literal,
    one_of,
    repeat,
    sequence,
)

MAX_DIGITS: Final = 19
"""Before the point of a number, and after it. Python refuses to read numbers of thousands of digits."""

_SPACE: Final = repeat(literal(" "), 0, 1)
COMMA: Final = sequence(literal(","), _SPACE)
COLON: Final = sequence(literal(":"), _SPACE)
QUOTE: Final = literal('"')
_DIGIT: Final = one_of("0123456789")
_HEX: Final = one_of("0123456789ABCDEFabcdef")
_ESCAPED: Final = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C))
PLAIN: Final = characters(complement(_ESCAPED))
# What follows \u: four hexadecimal digits, or the two surrogates of one character.
_CODE_POINT: Final = choice(
    sequence(one_of("0123456789ABCEFabcef"), repeat(_HEX, 3, 3)),
    sequence(one_of("Dd"), one_of("01234567"), repeat(_HEX, 2, 2)),
    sequence(
        sequence(one_of("Dd"), one_of("89ABab"), repeat(_HEX, 2, 2)),
        sequence(literal("\\u"), one_of("Dd"), one_of("CDEFcdef"), repeat(_HEX, 2, 2)),
    ),
)
_STRING_CHARACTER: Final = choice(
    PLAIN, sequence(literal("\\"), choice(one_of('"\\/bfnrt'), sequence(literal("u"), _CODE_POINT)))
)
FRACTION: Final = sequence(literal("."), repeat(_DIGIT, 1, MAX_DIGITS))
_EXPONENT: Final = sequence(one_of("Ee"), repeat(one_of("+-"), 0, 1), repeat(_DIGIT, 1, 2))
NUMBER: Final = sequence(
    repeat(literal("-"), 0, 1),
    choice(literal("0"), sequence(one_of("123456789"), repeat(_DIGIT, 0, MAX_DIGITS - 1))),
    repeat(FRACTION, 0, 1),
    repeat(_EXPONENT, 0, 1),
)


def string(least: int = 0, most: int | None = None) -> Expression:
    return sequence(QUOTE, repeat(_STRING_CHARACTER, least, most), QUOTE)


def list_of(item: Expression, least: int = 0, most: int | None = None) -> Expression:
    """Items with commas between them."""
    if most == 0:
        return EMPTY
    some = sequence(item, repeat(sequence(COMMA, item), max(least - 1, 0), None if most is None else most - 1))
    return some if least else repeat(some, 0, 1)


def constant(value: Any) -> Expression:
    """A value, written in one way only, up to the optional spaces.

    Raises TypeError or ValueError for a value that JSON does not have.
    """
    if isinstance(value, Mapping):
        members = [sequence(constant(str(name)), COLON, constant(inner)) for name, inner in value.items()]
        return sequence(literal("{"), *_separated(members), literal("}"))
    if isinstance(value, list):
        return sequence(literal("["), *_separated([constant(inner) for inner in value]), literal("]"))
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode()  # raises an error for a lone surrogate
    return literal(text)


def _separated(parts: list[Expression]) -> list[Expression]:
    return [piece for index, part in enumerate(parts) for piece in ((COMMA, part) if index else (part,))]


def escaped(part: CharacterSet) -> Expression:
    """A set of characters as it is written within a JSON string."""
    parts: list[Expression] = [CharacterSet(intersection(part.ranges, PLAIN.ranges))]
    for first, last in intersection(part.ranges, _ESCAPED):
        parts.extend(literal(json.dumps(chr(point))[1:-1]) for point in range(first, last + 1))
    return choice(*parts)


def integers(low: int, high: int) -> Expression:
    """The integers from `low` to `high`, both at least 0, without leading zeros."""
    parts = []
    for length in range(len(str(low)), len(str(high)) + 1):
        smallest, largest = 10 ** (length - 1) if length > 1 else 0, 10**length - 1
        parts.append(_digits_between(str(max(low, smallest)), str(min(high, largest))))
    return choice(*parts)


def _digits_between(low: str, high: str) -> Expression:
    """The numbers of equal length from `low` to `high`."""
    rest = len(low) - 1
    if set(low) <= {"0"} and set(high) <= {"9"}:
        return repeat(_DIGIT, rest + 1, rest + 1)
    if low[0] == high[0]:
        return sequence(literal(low[0]), _digits_between(low[1:], high[1:]))
    parts = [sequence(literal(low[0]), _digits_between(low[1:], "9" * rest))]
    if int(high[0]) - int(low[0]) > 1:
        parts.append(sequence(characters([(ord(low[0]) + 1, ord(high[0]) - 1)]), repeat(_DIGIT, rest, rest)))
    parts.append(sequence(literal(high[0]), _digits_between("0" * rest, high[1:])))
    return choice(*parts)
