"""JSON schemas as grammars. Knows nothing of tokens or files.

The text is compact: no white space except at most one space after ':' and ','. Properties come in the order of the schema.

Supported: `type` (one or a list), `properties`, `required`, `additionalProperties`, `items`, `minItems`, `maxItems`,
`pattern`, `minLength`, `maxLength`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `enum`, `const`, `anyOf`,
`oneOf`, `allOf` of one schema, and `$ref` within the document, which may be recursive. Any other keyword is refused by name,
except those that only describe: `title`, `description` and so on.

Every text that matches is valid under the schema. The other direction does not hold:

- Objects with `properties` have no other members unless `additionalProperties` says so.
- Numbers have at most 19 digits before and after the point, and exponents of at most 2 digits. Bounds must be integers;
  with them a number has no exponent.
- A string with a `pattern` matches it as a whole, even without `^` and `$`.
- `oneOf` is taken as `anyOf`: it is not checked that the other schemas do not match.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn
from urllib.parse import unquote

from glasshouse.generation.grammar import (
    EMPTY,
    NOTHING,
    CharacterSet,
    Expression,
    Grammar,
    RuleReference,
    choice,
    complement,
    intersection,
    literal,
    map_characters,
    repeat,
    sequence,
)
from glasshouse.generation.json_text import (
    COLON,
    COMMA,
    FRACTION,
    MAX_DIGITS,
    NUMBER,
    PLAIN,
    QUOTE,
    constant,
    escaped,
    integers,
    list_of,
    string,
)
from glasshouse.generation.regular_language import MAX_COUNT, parse_expression
from glasshouse.specs.errors import GlasshouseError

MAX_RULES: Final = 5_000

_ANNOTATIONS: Final = frozenset(
    ("title", "description", "$schema", "$id", "$comment", "$defs", "definitions", "default", "examples", "deprecated")
    + ("readOnly", "writeOnly")
)
_TYPE_KEYWORDS: Final = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "minItems", "maxItems"),
    "string": ("pattern", "minLength", "maxLength"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "boolean": (),
    "null": (),
}
_ALL_TYPES: Final = ("object", "array", "string", "number", "boolean", "null")
# Each of these stands alone in a schema, beside annotations.
_ALONE: Final = ("$ref", "anyOf", "oneOf", "allOf")
_SUPPORTED: Final = frozenset(
    {"type", "enum", "const", *_ALONE, *(keyword for keywords in _TYPE_KEYWORDS.values() for keyword in keywords)}
)

_LISTS: Final = {
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), "a list of schemas with at least one"),
    "enum": "a list of values with at least one",
    "required": "a list of names",
}

_ANY: Final = "any value"

Schema = Mapping[str, Any] | bool


def parse(schema: Schema) -> Grammar:
    """The grammar of the texts that are valid under a schema."""
    try:
        return _Compiler(schema).grammar()
    except RecursionError:
        raise GlasshouseError("the schema is nested too deeply; use $ref for its inner parts") from None


class _Compiler:
    """Every schema within the document becomes a rule, named by its JSON pointer. So schemas may refer to each other."""

    def __init__(self, document: Schema) -> None:
        self.document = document
        self.rules: dict[str, Expression] = {}
        self.waiting: list[tuple[str, Any]] = []

    def grammar(self) -> Grammar:
        root = self._rule("#", self.document)
        while self.waiting:
            pointer, schema = self.waiting.pop(0)
            self.rules[pointer] = self._expression(schema, pointer)
        return Grammar(root, self.rules)

    def _rule(self, pointer: str, schema: Any) -> RuleReference:
        """A reference to the rule of a schema, which is compiled later."""
        if pointer not in self.rules:
            if len(self.rules) >= MAX_RULES:
                raise GlasshouseError(f"the schema has over {MAX_RULES:,} parts; use a smaller one")
            self.rules[pointer] = NOTHING
            self.waiting.append((pointer, schema))
        return RuleReference(pointer)

    def _expression(self, schema: Any, where: str) -> Expression:
        if schema is True:
            return self._any_value()
        if schema is False:
            return NOTHING
        if not isinstance(schema, Mapping):
            _refuse(where, f"a schema is an object, true or false, not {schema!r}", "correct it")
        keywords = [keyword for keyword in schema if keyword not in _ANNOTATIONS]
        for keyword in keywords:
            if keyword not in _SUPPORTED:
                _refuse(where, f"the keyword {keyword!r} is not supported", "leave it out, or express it another way")
            if keyword in _LISTS and not (isinstance(schema[keyword], list) and (schema[keyword] or keyword == "required")):
                _refuse(where, f"{keyword!r} must be {_LISTS[keyword]}", "correct it")
        for keyword in _ALONE:
            if keyword in keywords:
                if others := [other for other in keywords if other != keyword]:
                    _refuse(
                        where, f"{keyword!r} cannot stand beside {others[0]!r}", f"move {others[0]!r} into the inner schemas"
                    )
                if keyword == "$ref":
                    return self._referred(schema[keyword], where)
                if keyword == "allOf" and len(schema[keyword]) > 1:
                    problem = f"'allOf' of {len(schema[keyword])} schemas is not supported"
                    _refuse(where, problem, "write them as one schema")
                inner = enumerate(schema[keyword])
                return choice(*(self._rule(f"{where}/{keyword}/{index}", part) for index, part in inner))
        if "enum" in schema or "const" in schema:
            return self._constants(schema, keywords, where)
        types = self._types(schema, keywords, where)
        if types == _ALL_TYPES:
            return self._any_value()
        return choice(*(_BUILDERS[type](self, schema, where) for type in types))

    def _referred(self, pointer: Any, where: str) -> Expression:
        if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
            _refuse(where, f"'$ref' to {pointer!r} is not supported", "refer to a part of the same document: #/$defs/NAME")
        schema: Any = self.document
        steps = [unquote(step).replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        for step in steps:
            if isinstance(schema, Mapping) and step in schema:
                schema = schema[step]
            elif isinstance(schema, list) and step.isdecimal() and int(step) < len(schema):
                schema = schema[int(step)]
            else:
                _refuse(where, f"'$ref' leads to {pointer}, which does not exist", "correct it, or add the definition")
        return self._rule("/".join(["#", *map(_pointer_step, steps)]), schema)

    def _types(self, schema: Mapping[str, Any], keywords: Sequence[str], where: str) -> Sequence[str]:
        """The types that a schema allows. Without `type`, they follow from the other keywords."""
        implied = [name for name in _ALL_TYPES if any(keyword in _TYPE_KEYWORDS[name] for keyword in keywords)]
        if "type" not in schema:
            return implied or _ALL_TYPES
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        for name in types:
            if not isinstance(name, str) or name not in _TYPE_KEYWORDS:
                _refuse(where, f"the type {name!r} does not exist", f"choose {', '.join(_TYPE_KEYWORDS)}")
        for keyword in keywords:
            if keyword != "type" and not any(keyword in _TYPE_KEYWORDS[name] for name in types):
                _refuse(where, f"{keyword!r} does not apply to the type {' or '.join(types)}", "leave it out")
        return types

    def _constants(self, schema: Mapping[str, Any], keywords: Sequence[str], where: str) -> Expression:
        for keyword in keywords:
            if keyword not in ("enum", "const", "type"):
                _refuse(where, f"{keyword!r} cannot stand beside 'enum' or 'const'", "leave out the values that break it")
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        if "enum" in schema and "const" in schema:
            _refuse(where, "'enum' cannot stand beside 'const'", "leave one out")
        if "type" in schema:
            types = self._types(schema, ["type"], where)
            values = [value for value in values if any(_has_type(value, name) for name in types)]
        return choice(*(_constant(value, where) for value in values))

    def _any_value(self) -> Expression:
        if _ANY not in self.rules:
            value = RuleReference(_ANY)
            self.rules[_ANY] = choice(
                sequence(literal("{"), list_of(sequence(string(), COLON, value)), literal("}")),
                sequence(literal("["), list_of(value), literal("]")),
                string(),
                NUMBER,
                *map(literal, ("true", "false", "null")),
            )
        return RuleReference(_ANY)

    def _object(self, schema: Mapping[str, Any], where: str) -> Expression:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        if not isinstance(properties, Mapping):
            _refuse(where, "'properties' must be an object of schemas", "correct it")
        for name in required:
            if not (isinstance(name, str) and name in properties):
                _refuse(where, f"the required property {name!r} is not in 'properties'", "add it there; {} allows any value")
        additional = schema.get("additionalProperties", "properties" not in schema)
        tail: Expression = EMPTY  # what follows if a member is written already
        first: Expression = EMPTY  # what follows if none is
        if additional is not False:
            value = self._rule(f"{where}/additionalProperties", additional)
            member = sequence(self._other_key(list(properties), where), COLON, value)
            tail, first = repeat(sequence(COMMA, member)), list_of(member)
        for name, inner in reversed(list(properties.items())):
            value = self._rule(f"{where}/properties/{_pointer_step(name)}", inner)
            member = sequence(_constant(name, where), COLON, value)
            if name in required:
                first = sequence(member, tail)
                tail = sequence(COMMA, member, tail)
            else:
                first = choice(sequence(member, tail), first)
                tail = sequence(repeat(sequence(COMMA, member), 0, 1), tail)
        return sequence(literal("{"), first, literal("}"))

    def _other_key(self, names: list[str], where: str) -> Expression:
        """A key that is none of these names, because a second value for the same name could break its schema.

        Where there are names, the key has no escapes: an escape could spell one of them.
        """
        if not names:
            return string()
        following_of: dict[str, set[str]] = {name: set() for name in names}
        for name in names:
            for length, character in enumerate(name):
                following_of.setdefault(name[:length], set()).add(character)
        for beginning, following in following_of.items():
            others = complement((ord(character), ord(character)) for character in following)
            parts = [sequence(CharacterSet(intersection(others, PLAIN.ranges)), repeat(PLAIN))]
            for character in sorted(following):
                if intersection(((ord(character), ord(character)),), PLAIN.ranges):
                    parts.append(sequence(literal(character), RuleReference(f"{where} other key {beginning}{character}")))
            if beginning not in names:
                parts.append(EMPTY)
            self.rules[f"{where} other key {beginning}"] = choice(*parts)
        return sequence(QUOTE, RuleReference(f"{where} other key "), QUOTE)

    def _array(self, schema: Mapping[str, Any], where: str) -> Expression:
        least, most = _counts(schema, "minItems", "maxItems", where)
        item = self._rule(f"{where}/items", schema.get("items", True))
        return sequence(literal("["), list_of(item, least, most), literal("]"))

    def _string(self, schema: Mapping[str, Any], where: str) -> Expression:
        least, most = _counts(schema, "minLength", "maxLength", where)
        if "pattern" not in schema:
            return string(least, most)
        for keyword in ("minLength", "maxLength"):
            if keyword in schema:
                _refuse(where, f"'pattern' cannot stand beside {keyword!r}", "put the length into the pattern: .{2,5}")
        try:
            expression = parse_expression(schema["pattern"])
        except GlasshouseError as error:
            raise error.within(f"the schema at {where}, 'pattern'") from None
        return sequence(QUOTE, map_characters(expression, escaped), QUOTE)

    def _integer(self, schema: Mapping[str, Any], where: str) -> Expression:
        lowest, highest = _bounds(schema, where, exclusive=True)
        magnitude = [(max(lowest, 0), highest, ""), (max(-highest, 1), -lowest, "-")]
        return choice(*(sequence(literal(sign), integers(low, high)) for low, high, sign in magnitude if low <= high))

    def _number(self, schema: Mapping[str, Any], where: str) -> Expression:
        if not any(keyword in schema for keyword in _TYPE_KEYWORDS["number"]):
            return NUMBER
        lowest, highest = _bounds(schema, where, exclusive=False)
        parts: list[Expression] = []
        for low, high, sign in ((max(lowest, 0), highest, ""), (max(-highest, 0), -lowest, "-")):
            if sign and high == 0:
                continue  # -0
            if low < high:
                parts.append(sequence(literal(sign), integers(low, high - 1), repeat(FRACTION, 0, 1)))
            if low <= high:
                zeros = sequence(literal("."), repeat(literal("0"), 1, MAX_DIGITS))
                parts.append(sequence(literal(f"{sign}{high}"), repeat(zeros, 0, 1)))
        return choice(*parts)


_BUILDERS: Final[dict[str, Callable[[_Compiler, Mapping[str, Any], str], Expression]]] = {
    "object": _Compiler._object,
    "array": _Compiler._array,
    "string": _Compiler._string,
    "number": _Compiler._number,
    "integer": _Compiler._integer,
    "boolean": lambda compiler, schema, where: choice(literal("true"), literal("false")),
    "null": lambda compiler, schema, where: literal("null"),
}


def _constant(value: Any, where: str) -> Expression:
    try:
        return constant(value)
    except (TypeError, ValueError):
        _refuse(where, f"the value {value!r} cannot be written as JSON", "use numbers, strings, true, false or null")


def _has_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if name == "number":
        return isinstance(value, int | float)
    kinds = {"object": Mapping, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds[name])


def _bounds(schema: Mapping[str, Any], where: str, exclusive: bool) -> tuple[int, int]:
    """The smallest and the largest value, as integers."""
    limit = 10**MAX_DIGITS - 1
    lowest, highest = -limit, limit
    for keyword in _TYPE_KEYWORDS["number"]:
        if keyword not in schema:
            continue
        value = schema[keyword]
        if not _has_type(value, "integer") or abs(value) > limit:
            _refuse(where, f"{keyword!r} is {value!r}", f"use an integer of at most {MAX_DIGITS} digits, or leave it out")
        if keyword.startswith("exclusive") and not exclusive:
            _refuse(where, f"{keyword!r} is supported for the type integer only", "use minimum or maximum")
        step = int(keyword.startswith("exclusive"))
        if keyword in ("minimum", "exclusiveMinimum"):
            lowest = max(lowest, int(value) + step)
        else:
            highest = min(highest, int(value) - step)
    return lowest, highest


def _counts(schema: Mapping[str, Any], least: str, most: str, where: str) -> tuple[int, int | None]:
    for keyword in (least, most):
        value = schema.get(keyword, 0)
        if not _has_type(value, "integer") or not 0 <= value <= MAX_COUNT:
            _refuse(where, f"{keyword!r} is {value!r}", f"use an integer from 0 to {MAX_COUNT:,}")
    smallest, largest = int(schema.get(least, 0)), int(schema[most]) if most in schema else None
    if largest is not None and largest < smallest:
        _refuse(where, f"{most!r} is {largest}, which is below {least!r}, {smallest}", "exchange the two")
    return smallest, largest


def _pointer_step(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _refuse(where: str, what: str, remedy: str) -> NoReturn:
    raise GlasshouseError(f"the schema at {where}: {what}; {remedy}")
