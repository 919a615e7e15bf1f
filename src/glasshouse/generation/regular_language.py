r"""Regular expressions as grammars. Knows nothing of tokens.

The whole text must match. The supported part of Python's syntax:

- literal characters, and escapes of punctuation (`\.`) and control characters (`\n \t \r \f \v \0 \xHH \uHHHH \UHHHHHHHH`);
- `\d \w \s` and `\D \W \S`, with the ASCII meaning of Python's `re.ASCII`;
- classes `[a-z_]` and `[^"\n]`; a dot is any character except a newline;
- groups `(...)`, `(?:...)` and `(?P<name>...)`, which are all the same here; alternatives `a|b`;
- `* + ? {m} {m,} {,n} {m,n}`; a lazy `?` after them changes nothing, because the whole text must match;
- `^` at the start and `$` at the end of the pattern or of an alternative of it, which change nothing either.

Look-around, back references, word boundaries, flags and possessive repetitions are refused.
"""

import re
from typing import Final, NoReturn

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
_CLASSES: Final[dict[str, CodePoints]] = {
    "d": _DIGITS,
    "D": complement(_DIGITS),
    "w": _WORD,
    "W": complement(_WORD),
    "s": _SPACE,
    "S": complement(_SPACE),
}
_DOT: Final = complement([(0x0A, 0x0A)])
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0", "a": "\a"}
_HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_COUNTS: Final = re.compile(r"\{(\d*)(,?)(\d*)\}")
_GROUP_NAME: Final = re.compile(r"\?P<[A-Za-z_]\w*>", re.ASCII)
_REFUSED_GROUPS: Final = {
    "?=": "look-ahead",
    "?!": "look-ahead",
    "?<=": "look-behind",
    "?<!": "look-behind",
    "?P=": "a back reference",
    "?#": "a comment",
    "?>": "an atomic group",
    "?(": "a conditional group",
}


def parse(pattern: str) -> Grammar:
    """The grammar of a regular expression."""
    return Grammar(parse_expression(pattern))


def parse_expression(pattern: str) -> Expression:
    """The expression of a regular expression, to be used as a part of a grammar."""
    if not isinstance(pattern, str):
        raise GlasshouseError(f"a pattern is a text, not {pattern!r}; write it in quotes")
    if len(pattern) > MAX_LENGTH:
        raise GlasshouseError(
            f"the pattern has {len(pattern):,} characters; use at most {MAX_LENGTH:,}: a counted repetition is shorter"
        )
    return _Parser(pattern).parse()


class _Parser:
    """A recursive-descent parser. `position` is the index of the next character."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.position, self.depth = pattern, 0, 0

    def parse(self) -> Expression:
        expression = self._alternatives()
        if self.position < len(self.pattern):
            self._refuse("has a ) without its (", self.position, r"remove it, or write \) for the character")
        return expression

    def _alternatives(self) -> Expression:
        parts = [self._branch()]
        while self._take("|"):
            parts.append(self._branch())
        return choice(*parts)

    def _branch(self) -> Expression:
        parts: list[Expression] = []
        if self.depth == 0:
            self._take("^")
        while self.position < len(self.pattern) and self._next() not in "|)":
            if self._next() == "$" and self.depth == 0 and self.pattern[self.position + 1 : self.position + 2] in ("", "|"):
                self.position += 1
                break
            parts.append(self._repeated())
        return sequence(*parts)

    def _repeated(self) -> Expression:
        start = self.position
        part = self._atom()
        counts = self._counts()
        if counts is None:
            return part
        if self._take("+"):
            self._refuse("has a possessive repetition", start, "leave out the second +")
        self._take("?")  # lazy
        again = self.position
        if self._counts() is not None:
            self._refuse("repeats a repetition", again, "put the first repetition in a group: (a*)*")
        return repeat(part, *counts)

    def _counts(self) -> tuple[int, int | None] | None:
        """The smallest and the largest number of repetitions, if a repetition comes next."""
        for symbol, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(symbol):
                return counts
        start = self.position
        match = _COUNTS.match(self.pattern, start)
        if not match or (not match[1] and not match[3]):
            return None  # as in Python, any other { is a character
        self.position = match.end()
        least = int(match[1] or 0)
        most = (int(match[3]) if match[3] else None) if match[2] else least
        if max(least, most or 0) > MAX_COUNT:
            self._refuse("repeats too often", start, f"repeat at most {MAX_COUNT:,} times")
        if most is not None and most < least:
            self._refuse("has a largest count below the smallest", start, "exchange the two counts")
        return least, most

    def _atom(self) -> Expression:
        start = self.position
        character = self._advance()
        if character == "(":
            return self._group(start)
        if character == "[":
            return characters(self._class(start))
        if character == ".":
            return characters(_DOT)
        if character == "\\":
            return characters(self._escape(start, in_class=False))
        if character in "*+?" or (character == "{" and self._counts_at(start)):
            self._refuse(
                "has nothing to repeat", start, f"put something before it, or write \\{character} for the character"
            )
        if character in "^$":
            self._refuse(
                f"has a {character} inside", start, f"put it at the very end, or write \\{character} for the character"
            )
        return characters([self._code_point(character, start)])

    def _counts_at(self, start: int) -> bool:
        match = _COUNTS.match(self.pattern, start)
        return bool(match and (match[1] or match[3]))

    def _group(self, start: int) -> Expression:
        for opening, name in _REFUSED_GROUPS.items():
            if self.pattern.startswith(opening, self.position):
                self._refuse(f"uses {name}, which is not regular or not supported", start, "write the alternatives out")
        if match := _GROUP_NAME.match(self.pattern, self.position):
            self.position = match.end()
        elif not self._take("?:") and self._next() == "?":
            self._refuse("has a group with a flag or of an unknown kind", start, "use (...), (?:...) or (?P<name>...)")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._refuse("has too deep groups", start, f"nest at most {MAX_DEPTH} groups")
        expression = self._alternatives()
        if not self._take(")"):
            self._refuse("has a ( without its )", start, r"close it, or write \( for the character")
        self.depth -= 1
        return expression

    def _class(self, start: int) -> CodePoints:
        negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self._next() != "]":
            first = False
            if self.position >= len(self.pattern):
                self._refuse("has a [ without its ]", start, r"close it, or write \[ for the character")
            left = self._class_item()
            if self._next() == "-" and self.pattern[self.position + 1 : self.position + 2] not in ("", "]"):
                begin = self.position
                self.position += 1
                right = self._class_item()
                if len(left) != 1 or len(right) != 1 or left[0][0] != left[0][1] or right[0][0] != right[0][1]:
                    self._refuse("has a range that ends with a class", begin, r"write \- for the character")
                if right[0][0] < left[0][0]:
                    self._refuse("has a range that runs backwards", begin, "exchange its ends")
                left = ((left[0][0], right[0][0]),)
            ranges.extend(left)
        self.position += 1
        return complement(ranges) if negated else characters(ranges).ranges

    def _class_item(self) -> CodePoints:
        start = self.position
        character = self._advance()
        return self._escape(start, in_class=True) if character == "\\" else (self._code_point(character, start),)

    def _escape(self, start: int, in_class: bool) -> CodePoints:
        if self.position >= len(self.pattern):
            self._refuse("ends with a backslash", start, r"write \\ for the character")
        character = self._advance()
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _HEX_DIGITS:
            digits = self.pattern[self.position : self.position + _HEX_DIGITS[character]]
            if not re.fullmatch(f"[0-9a-fA-F]{{{_HEX_DIGITS[character]}}}", digits) or int(digits, 16) > 0x10FFFF:
                self._refuse(f"has an incomplete \\{character}", start, f"give {_HEX_DIGITS[character]} hexadecimal digits")
            self.position += len(digits)
            return (self._code_point(chr(int(digits, 16)), start),)
        if character.isdigit() and (character != "0" or self._next().isdigit()):
            self._refuse("has a back reference or an octal number", start, r"write out what it refers to, or \xHH")
        if character in _CONTROLS:
            return (self._code_point(_CONTROLS[character], start),)
        if character.isalnum():
            where = " in a class" if in_class else ""
            self._refuse(f"has the escape \\{character}{where}, which is not supported", start, "leave it out")
        return (self._code_point(character, start),)

    def _code_point(self, character: str, start: int) -> tuple[int, int]:
        if 0xD800 <= ord(character) <= 0xDFFF:
            self._refuse("has a lone surrogate, which is not a character", start, "remove it")
        return (ord(character), ord(character))

    def _next(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def _advance(self) -> str:
        self.position += 1
        return self.pattern[self.position - 1 : self.position]

    def _take(self, text: str) -> bool:
        if self.pattern.startswith(text, self.position):
            self.position += len(text)
            return True
        return False

    def _refuse(self, what: str, position: int, remedy: str) -> NoReturn:
        shown = self.pattern[position : position + 20]
        raise GlasshouseError(f"the pattern {what} at index {position}, {shown!r}; {remedy}")
