"""Grammars: expressions over characters, and named rules that may refer to each other. Knows nothing of bytes or tokens.

A regular expression is a grammar without rules. Nested text, such as JSON, needs rules that refer to themselves.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

CodePoints = tuple[tuple[int, int], ...]
"""Code points as ranges (first, last), in order and without overlap."""

ALL_CHARACTERS: Final[CodePoints] = ((0, 0xD7FF), (0xE000, 0x10FFFF))
"""Every character that UTF-8 can encode: all code points except the surrogates."""


# Expressions are compared by identity: a large one may contain the same part many times.
@dataclass(frozen=True, eq=False)
class CharacterSet:
    """One character of a set."""

    ranges: CodePoints


@dataclass(frozen=True, eq=False)
class Concatenation:
    parts: tuple["Expression", ...]


@dataclass(frozen=True, eq=False)
class Alternation:
    """One of the parts. Without parts, it matches nothing at all."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, eq=False)
class Repetition:
    """A part, at least `least` and at most `most` times. None is any number of times."""

    part: "Expression"
    least: int
    most: int | None


@dataclass(frozen=True, eq=False)
class RuleReference:
    """What the rule of this name matches."""

    name: str


Expression = CharacterSet | Concatenation | Alternation | Repetition | RuleReference

EMPTY: Final = Concatenation(())
NOTHING: Final = Alternation(())


def characters(ranges: Iterable[tuple[int, int]]) -> CharacterSet:
    """One character of these ranges, which may overlap. Surrogates are left out."""
    return CharacterSet(intersection(_merged(ranges), ALL_CHARACTERS))


def one_of(text: str) -> CharacterSet:
    """One of the characters of this text."""
    return characters((ord(character), ord(character)) for character in text)


def literal(text: str) -> Concatenation:
    return Concatenation(tuple(one_of(character) for character in text))


def sequence(*parts: Expression) -> Expression:
    flat: list[Expression] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Concatenation) else (part,))
    return flat[0] if len(flat) == 1 else Concatenation(tuple(flat))


def choice(*parts: Expression) -> Expression:
    return parts[0] if len(parts) == 1 else Alternation(parts)


def repeat(part: Expression, least: int = 0, most: int | None = None) -> Expression:
    return EMPTY if most == 0 else part if least == most == 1 else Repetition(part, least, most)


def complement(ranges: Iterable[tuple[int, int]]) -> CodePoints:
    gaps, first = [], 0
    for start, last in _merged(ranges):
        gaps.append((first, start - 1))
        first = last + 1
    return intersection((*gaps, (first, 0x10FFFF)), ALL_CHARACTERS)


def intersection(left: CodePoints, right: CodePoints) -> CodePoints:
    common, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        first, last = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if first <= last:
            common.append((first, last))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


def _merged(ranges: Iterable[tuple[int, int]]) -> CodePoints:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def map_characters(expression: Expression, change: Callable[[CharacterSet], Expression]) -> Expression:
    """The expression with every set of characters replaced. A part that occurs several times is changed once."""
    known: dict[int, Expression] = {}

    def changed(expression: Expression) -> Expression:
        if id(expression) in known:
            return known[id(expression)]
        new: Expression = expression
        if isinstance(expression, CharacterSet):
            new = change(expression)
        elif isinstance(expression, Repetition):
            new = Repetition(changed(expression.part), expression.least, expression.most)
        elif not isinstance(expression, RuleReference):
            new = type(expression)(tuple(changed(part) for part in expression.parts))
        known[id(expression)] = new
        return new

    return changed(expression)


@dataclass(frozen=True)
class Grammar:
    """A root expression, and the rules to which it refers."""

    root: Expression
    rules: Mapping[str, Expression] = field(default_factory=dict)

    def restricted(self, alphabet: CodePoints) -> "Grammar":
        """The texts of this grammar that consist of these characters only."""

        def restrict(expression: Expression) -> Expression:
            return map_characters(expression, lambda part: CharacterSet(intersection(part.ranges, alphabet)))

        return Grammar(restrict(self.root), {name: restrict(rule) for name, rule in self.rules.items()})

    def required_characters(self) -> list[str]:
        """The characters that stand alone in the grammar, outside classes: those of its literals."""
        found: dict[str, None] = {}

        def collect(part: CharacterSet) -> Expression:
            if len(part.ranges) == 1 and part.ranges[0][0] == part.ranges[0][1]:
                found[chr(part.ranges[0][0])] = None
            return part

        for expression in (self.root, *self.rules.values()):
            map_characters(expression, collect)
        return list(found)
