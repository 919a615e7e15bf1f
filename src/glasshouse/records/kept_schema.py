"""Schemas of kept files: a value that was read is checked against a Python type before anything trusts it.

A schema is a type: `int`, `float | None`, `list[str]`, `dict[str, float]`, a TypedDict or a dataclass. `Annotated` adds a
range (`Between`) or a size (`Size`). A JSON array fits a tuple, and the names of a JSON object fit whole numbers if they are
written so. The fields of a TypedDict that it does not declare are left alone, so that a later release may add some.
"""

import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

# Whole numbers and texts beyond these stand in no kept file.
MOST_DIGITS = 300
MOST_TEXT = 16 * 2**20
# The characters of a value that a message shows.
SHOWN = 40


class SchemaError(ValueError):
    """A value that does not fit its schema. The message names the field, the rule and the value."""


@dataclass(frozen=True)
class Between:
    """A number from `low` to `high`; NaN is outside."""

    low: float
    high: float


@dataclass(frozen=True)
class Size:
    """An array, an object or a text with at least and at most so many entries or characters."""

    least: int = 0
    most: int = 10**7


@dataclass(frozen=True)
class Also:
    """A value that fits a second schema too: an object of many names, of which some mean more."""

    schema: Any


# A number of steps, tokens, bytes or FLOPs; a seed; seconds since 1970; the length of a time in seconds.
Count = Annotated[int, Between(0, 1e30)]
Step = Annotated[int, Between(0, 1e12)]
Seed = Annotated[int, Between(0, 2**63 - 1)]
Time = Annotated[float, Between(0, 2e11)]
Seconds = Annotated[float, Between(0, 1e12)]
Text = Annotated[str, Size(1, 1000)]

_NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    type(None): "null",
    list: "an array",
    dict: "an object",
}


def check(value: Any, schema: Any, field: str = "") -> None:
    """Raise SchemaError if the value does not fit."""
    for fault in _faults(value, schema, field):
        raise SchemaError(fault)


def fits(value: Any, schema: Any) -> bool:
    return next(_faults(value, schema, ""), None) is None


def is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold. NaN and infinity are."""
    return type(value) is float or (type(value) is int and abs(value) < 10**MOST_DIGITS)


def fitting_entries(table: Mapping[str, Any], schema: Any) -> tuple[dict[str, Any], list[str]]:
    """The entries of an object that fit their fields in a TypedDict, and what is wrong with the others, in words."""
    hints = _hints(schema)
    faults = {name: next(_faults(value, hints[name], name), "") for name, value in table.items() if name in hints}
    kept = {name: value for name, value in table.items() if not faults.get(name)}
    return kept, [fault for fault in faults.values() if fault]


def _faults(value: Any, schema: Any, field: str) -> Iterator[str]:
    """What is wrong with a value, in words."""
    origin, arguments = get_origin(schema), get_args(schema)
    if schema is Any:
        return
    if origin is Annotated:
        wrong = next(_faults(value, arguments[0], field), None)
        yield from [wrong] if wrong else _bound_faults(value, arguments[1:], field)
    elif origin in (Union, types.UnionType):
        if not any(next(_faults(value, one, field), None) is None for one in arguments):
            # More telling than "an object or null" is what is wrong inside the object.
            same = [one for one in arguments if _kind(one) is type(value)]
            yield from _faults(value, same[0], field) if same else [_wrong(value, " or ".join(map(_name, arguments)), field)]
    elif origin is Literal:
        if value not in arguments:
            yield _wrong(value, "one of: " + ", ".join(map(str, arguments)), field)
    elif is_typeddict(schema) or is_dataclass(schema):
        yield from _table_faults(value, schema, field)
    elif _kind(schema) is dict:
        yield from _object_faults(value, arguments or (str, Any), field)
    elif _kind(schema) is list:
        yield from _array_faults(value, schema, field)
    else:
        yield from _plain_faults(value, schema, field)


def _plain_faults(value: Any, schema: Any, field: str) -> Iterator[str]:
    allowed: dict[Any, Any] = {float: (int, float)}
    if type(value) not in (allowed.get(schema) or (schema,)):
        yield _wrong(value, _name(schema), field)
    elif isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        yield _wrong("a longer one", f"a number of at most {MOST_DIGITS} digits", field)
    elif isinstance(value, str) and len(value) > MOST_TEXT:
        yield _wrong(value, f"a text of at most {MOST_TEXT:,} characters", field)


def _bound_faults(value: Any, bounds: Sequence[Any], field: str) -> Iterator[str]:
    for bound in bounds:
        if isinstance(bound, Between) and isinstance(value, int | float) and not bound.low <= value <= bound.high:
            yield _wrong(value, f"from {bound.low:g} to {bound.high:g}", field)
        if isinstance(bound, Size) and hasattr(value, "__len__") and not bound.least <= len(value) <= bound.most:
            what = "characters" if isinstance(value, str) else "entries"
            yield _wrong(value, f"of {bound.least:,} to {bound.most:,} {what}", field)
        if isinstance(bound, Also):
            yield from _faults(value, bound.schema, field)


def _table_faults(value: Any, schema: Any, field: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _wrong(value, "an object", field)
        return
    hints, required = _hints(schema), _required(schema)
    for name in required:
        if name not in value:
            yield f"{_path(field, name)} is missing"
    for name, entry in value.items():
        if name in hints:
            yield from _faults(entry, hints[name], _path(field, name))
        elif is_dataclass(schema):
            yield f"{_path(field, name)} is not known"


def _object_faults(value: Any, arguments: Sequence[Any], field: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _wrong(value, "an object", field)
        return
    for name, entry in value.items():
        if arguments[0] is int and not (name.removeprefix("-").isascii() and name.removeprefix("-").isdigit()):
            yield _wrong(name, "an object whose names are whole numbers", field)
        yield from _faults(entry, arguments[1], _path(field, name))


def _array_faults(value: Any, schema: Any, field: str) -> Iterator[str]:
    arguments = get_args(schema)
    if not isinstance(value, list):
        yield _wrong(value, "an array", field)
    elif get_origin(schema) is tuple and arguments[-1:] != (Ellipsis,):
        if len(value) != len(arguments):
            yield _wrong(value, f"an array of {len(arguments)}", field)
        for number, (entry, one) in enumerate(zip(value, arguments, strict=False)):
            yield from _faults(entry, one, _path(field, number))
    elif arguments and not _all_plain(value, arguments[0]):
        for number, entry in enumerate(value):
            yield from _faults(entry, arguments[0], _path(field, number))


def _all_plain(values: list[Any], schema: Any) -> bool:
    """Whether the entries of an array, perhaps a long one, have the right type. Found without a loop in Python."""
    return schema in (float, bool, str) and set(map(type, values)) <= {schema}


def _kind(schema: Any) -> Any:
    """The JSON kind of a schema: dict, list, or a plain type."""
    origin = get_origin(schema) or schema
    if origin is Annotated:
        return _kind(get_args(schema)[0])
    if is_typeddict(origin) or is_dataclass(origin):
        return dict
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict
    return list if origin in (list, tuple, Sequence) else origin


def _name(schema: Any) -> str:
    return _NAMES.get(_kind(schema), str(schema))


def _path(field: str, name: object) -> str:
    shown = str(name)[:SHOWN]
    return f"{field}.{shown}" if field else shown


def _wrong(value: Any, rule: str, field: str) -> str:
    return f"{field or 'the value'} must be {rule}, and is {_shown(value)}"


def _shown(value: Any) -> str:
    """A value in a message: short, on one line."""
    if isinstance(value, dict | list):
        return f"{_NAMES[type(value)]} of {len(value):,}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**SHOWN:
        return "far larger"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


@cache
def _hints(schema: Any) -> dict[str, Any]:
    """The fields of a TypedDict or a dataclass and their schemas."""
    hints = get_type_hints(schema, include_extras=True)
    return {name: _without_requirement(hint) for name, hint in hints.items()}


def _without_requirement(hint: Any) -> Any:
    return get_args(hint)[0] if str(get_origin(hint)).endswith(("NotRequired", "Required")) else hint


@cache
def _required(schema: Any) -> tuple[str, ...]:
    if is_typeddict(schema):
        return tuple(sorted(schema.__required_keys__))
    return tuple(one.name for one in fields(schema) if one.default is MISSING and one.default_factory is MISSING)
