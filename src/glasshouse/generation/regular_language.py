r"""Regular expressions as grammars. Knows nothing of tokens.

The whole text must match. The supported part of Python's syntax, as Python's own parser reads it:

- literal characters, and escapes of punctuation (`\.`) and control characters (`\n \t \r \f \v \0 \xHH \uHHHH \UHHHHHHHH`);
- `\d \w \s` and `\D \W \S`, with the ASCII meaning of Python's `re.ASCII`;
- classes `[a-z_]` and `[^"\n]`; a dot is any character except a newline;
- groups `(...)`, `(?:...)` and `(?P<name>...)`, which are all the same here; alternatives `a|b`;
- `* + ? {m} {m,} {,n} {m,n}`; a lazy `?` after them changes nothing, because the whole text must match;
- `^` at the start and `$` at the end of the pattern or of an alternative of it, which change nothing either.

Look-around, back references, word boundaries, flags and possessive repetitions are refused.
"""

import re
from collections.abc import Sequence
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final, NoReturn

from glasshouse.generation.grammar import (
    CodePoints,
    Expression,
    Grammar,
    characters,
    choice,
    complement,
    repeat,
    sequence,
)
from glasshouse.specs.errors import GlasshouseError

MAX_LENGTH: Final = 20_000
MAX_DEPTH: Final = 50
MAX_COUNT: Final = 100_000

_DIGITS: Final[CodePoints] = ((0x30, 0x39),)
_WORD: Final[CodePoints] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Final[CodePoints] = ((0x09, 0x0D), (0x20, 0x20))
_CATEGORIES: Final[dict[int, CodePoints]] = {
    sre.CATEGORY_DIGIT: _DIGITS,
    sre.CATEGORY_NOT_DIGIT: complement(_DIGITS),
    sre.CATEGORY_WORD: _WORD,
    sre.CATEGORY_NOT_WORD: complement(_WORD),
    sre.CATEGORY_SPACE: _SPACE,
    sre.CATEGORY_NOT_SPACE: complement(_SPACE),
}
_DOT: Final = complement([(0x0A, 0x0A)])
_BEGINNINGS: Final = (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
_ENDS: Final = (sre.AT_END, sre.AT_END_STRING)
_REFUSED: Final = {
    sre.ASSERT: "look-ahead or look-behind",
    sre.ASSERT_NOT: "look-ahead or look-behind",
    sre.GROUPREF: "a back reference",
    sre.GROUPREF_EXISTS: "a conditional group",
    sre.ATOMIC_GROUP: "an atomic group",
    sre.POSSESSIVE_REPEAT: "a possessive repetition",
}

_Node = tuple[int, Any]
"""A node of Python's parser: what it is, and what belongs to it."""


def parse(pattern: str) -> Grammar:
    """The grammar of a regular expression."""
    return Grammar(parse_expression(pattern))


def parse_expression(pattern: str) -> Expression:
    """The expression of a regular expression, to be used as a part of a grammar."""
    if not isinstance(pattern, str):
        raise GlasshouseError(f"a pattern is a text, not {pattern!r}; write it in quotes")
    if len(pattern) > MAX_LENGTH:
        _refuse(f"has {len(pattern):,} characters", f"use at most {MAX_LENGTH:,}: a counted repetition is shorter")
    try:
        parsed = _parser.parse(pattern, re.ASCII)
    except re.error as error:
        shown = "" if error.pos is None else f" at index {error.pos}, {pattern[error.pos : error.pos + 20]!r}"
        _refuse(f"is no regular expression: {error.msg}{shown}", "correct it, or write a backslash before the character")
    except (OverflowError, RecursionError):
        _refuse("is too large", f"nest at most {MAX_DEPTH} groups, and repeat at most {MAX_COUNT:,} times")
    if parsed.state.flags & ~re.ASCII:
        _refuse("has a flag", "leave it out")
    return _sequence(list(parsed), first=True, last=True, depth=0)


def _sequence(nodes: Sequence[_Node], first: bool, last: bool, depth: int) -> Expression:
    """Nodes one after the other. `first` and `last` say whether they begin and end the pattern."""
    if depth > MAX_DEPTH:
        _refuse("has too deep groups", f"nest at most {MAX_DEPTH} groups")
    parts = []
    for index, (kind, value) in enumerate(nodes):
        begins, ends = first and index == 0, last and index == len(nodes) - 1
        if kind is sre.AT:
            if not ((begins and value in _BEGINNINGS) or (ends and value in _ENDS)):
                _refuse(r"has a ^, $ or word boundary (\b) inside", "leave it out, or write a backslash before ^ or $")
        elif kind is sre.BRANCH:
            parts.append(choice(*(_sequence(branch, begins, ends, depth) for branch in value[1])))
        elif kind is sre.SUBPATTERN:
            _, added_flags, removed_flags, inner = value
            if added_flags or removed_flags:
                _refuse("has a group with a flag", "use (...), (?:...) or (?P<name>...)")
            parts.append(_sequence(inner, begins, ends, depth + 1))
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            least, most, inner = value
            counts = int(least), None if most is sre.MAXREPEAT else int(most)
            if max(counts[0], counts[1] or 0) > MAX_COUNT:
                _refuse("repeats too often", f"repeat at most {MAX_COUNT:,} times")
            parts.append(repeat(_sequence(inner, False, False, depth), *counts))
        elif kind in _REFUSED:
            _refuse(f"has {_REFUSED[kind]}, which is not supported", "write the alternatives out")
        else:
            parts.append(characters(_DOT if kind is sre.ANY else _class([(kind, value)])))
    return sequence(*parts)


def _class(items: Sequence[_Node]) -> CodePoints:
    """The characters of the items of a class."""
    ranges: list[tuple[int, int]] = []
    negated = False
    for kind, value in items:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.IN:
            ranges.extend(_class(value))
        elif kind is sre.NOT_LITERAL:
            ranges.extend(complement([(value, value)]))
        elif kind is sre.CATEGORY:
            ranges.extend(_CATEGORIES[value])
        else:
            ranges.append(value if kind is sre.RANGE else (value, value))
            if 0xD800 <= ranges[-1][0] <= 0xDFFF or 0xD800 <= ranges[-1][1] <= 0xDFFF:
                _refuse("has a lone surrogate, which is not a character", "remove it")
    return complement(ranges) if negated else tuple(ranges)


def _refuse(what: str, remedy: str) -> NoReturn:
    raise GlasshouseError(f"the pattern {what}; {remedy}")
