"""Types of kept files: what was read becomes a value of a declared Python type, or is refused before anything trusts it.

A type is `int`, `float | None`, `list[str]`, `dict[int, float]`, a TypedDict, or a dataclass, of which an instance is made.
`Annotated` adds a range (`Between`) or a size (`Size`). Where the type says so, an array becomes a tuple, and the names of
an object become whole numbers. A TypedDict leaves fields alone that it does not declare, so a later release may add some.
"""

import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

# A longer whole number stands in no kept file, and no float holds it.
MOST_DIGITS = 300
# The characters of a value that a message shows.
SHOWN = 40
# NumPy has no whole numbers beyond this.
LARGEST_INT = 2**63 - 1


@dataclass(frozen=True)
class Between:
    """A number from `low` to `high`; NaN is outside."""

    low: float
    high: float

    def check(self, value: Any, field: str) -> None:
        if not self.low <= value <= self.high:
            raise _wrong(value, f"from {self.low:g} to {self.high:g}", field)


@dataclass(frozen=True)
class Size:
    """An array, an object or a text with at least and at most so many entries or characters."""

    least: int = 0
    most: int = 10**7

    def check(self, value: Any, field: str) -> None:
        if not self.least <= len(value) <= self.most:
            unit = "characters" if isinstance(value, str) else "entries"
            raise _wrong(value, f"of {self.least:,} to {self.most:,} {unit}", field)


@dataclass(frozen=True)
class Also:
    """A value that fits a second type too: an object of many names, of which some mean more."""

    type: Any

    def check(self, value: Any, field: str) -> None:
        as_type(value, self.type, field)


@dataclass(frozen=True)
class Written:
    """A value that is kept as a text. `read` makes it from the text and the name of the field."""

    read: Callable[[str, str], Any]


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


def as_type(value: Any, kind: Any, field: str = "") -> Any:
    """The value as this type. Raises a ValueError that names the field, the rule and the value."""
    if kind is Any:
        return value
    origin, arguments, is_table = _taken_apart(kind)
    if origin is Annotated:
        inner, *rules = arguments
        if isinstance(rules[0], Written):
            return rules[0].read(as_type(value, str, field), field)
        read = as_type(value, inner, field)
        for rule in rules:
            rule.check(value, field)
        return read
    if origin in (Union, types.UnionType):
        return _one_of(value, arguments, field)
    if origin is Literal:
        if value not in arguments:
            raise _wrong(value, "one of: " + ", ".join(map(str, arguments)), field)
        return value
    if is_table:
        return _table(value, origin, field)
    if _json_kind(kind) is dict:
        return _object(value, arguments or (str, Any), field)
    if _json_kind(kind) is list:
        return _array(value, origin, arguments or (Any,), field)
    if type(value) is not origin and not (origin is float and type(value) is int):
        raise _wrong(value, _name(origin), field)
    if type(value) is int and abs(value) >= 10**MOST_DIGITS:
        raise _wrong("a longer one", f"a number of at most {MOST_DIGITS} digits", field)
    return float(value) if origin is float and abs(value) > LARGEST_INT else value


def is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold. NaN and infinity are."""
    return type(value) is float or (type(value) is int and abs(value) < 10**MOST_DIGITS)


def fitting_entries(table: Mapping[str, Any], kind: Any) -> tuple[dict[str, Any], list[str]]:
    """The entries of an object that fit their fields in a TypedDict, and what is wrong with the others, in words."""
    hints, kept, faults = _hints(kind), dict[str, Any](), list[str]()
    for name, value in table.items():
        try:
            kept[name] = as_type(value, hints.get(name, Any), name)
        except ValueError as fault:
            faults.append(str(fault))
    return kept, faults


def _one_of(value: Any, kinds: Sequence[Any], field: str) -> Any:
    faults = []
    for kind in kinds:
        try:
            return as_type(value, kind, field)
        except ValueError as fault:
            if _json_kind(kind) is type(value):
                faults.append(fault)
    # More telling than "an object or null" is what is wrong inside the object.
    raise faults[0] if faults else _wrong(value, " or ".join(map(_name, kinds)), field)


def _table(value: Any, kind: Any, field: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(value, "an object", field)
    hints = _hints(kind)
    if missing := [name for name in _required(kind) if name not in value]:
        raise ValueError(f"{_path(field, missing[0])} is missing")
    if is_dataclass(kind) and (unknown := [name for name in value if name not in hints]):
        raise ValueError(f"{_path(field, unknown[0])} is not known")
    read = {name: as_type(entry, hints.get(name, Any), _path(field, name)) for name, entry in value.items()}
    if not is_dataclass(kind):
        return read
    construct: Any = kind
    try:
        return construct(**read)
    except ValueError as fault:
        raise ValueError(f"{field}.{fault}" if field else str(fault)) from None


def _object(value: Any, kinds: Sequence[Any], field: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, "an object", field)
    entries = {name: as_type(entry, kinds[1], _path(field, name)) for name, entry in value.items()}
    if kinds[0] is not int:
        return entries
    if wrong := [name for name in value if not re.fullmatch(r"-?[0-9]{1,18}", name)]:
        raise _wrong(wrong[0], "an object whose names are whole numbers", field)
    return {int(name): entry for name, entry in entries.items()}


def _array(value: Any, origin: Any, kinds: Sequence[Any], field: str) -> Any:
    if not isinstance(value, list):
        raise _wrong(value, "an array", field)
    if origin is tuple and kinds[-1] is not Ellipsis:
        if len(value) != len(kinds):
            raise _wrong(value, f"an array of {len(kinds)}", field)
    elif kinds[0] in (float, bool, str) and set(map(type, value)) <= {kinds[0]}:
        return origin(value) if origin is tuple else value  # perhaps a long one, of the right type
    else:
        kinds = [kinds[0]] * len(value)
    entries = [as_type(entry, kinds[place], _path(field, place)) for place, entry in enumerate(value)]
    return tuple(entries) if origin is tuple else entries


@cache
def _taken_apart(kind: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """A type without its arguments, the arguments, and whether its fields are declared."""
    origin = get_origin(kind) or kind
    return origin, get_args(kind), is_typeddict(origin) or is_dataclass(origin)


@cache
def _json_kind(kind: Any) -> Any:
    origin, arguments, is_table = _taken_apart(kind)
    if origin is Annotated:
        return _json_kind(arguments[0])
    if is_table or origin is Mapping:
        return dict
    return list if origin in (tuple, Sequence) else origin


def _name(kind: Any) -> str:
    return _NAMES.get(_json_kind(kind), str(kind))


def _path(field: str, name: object) -> str:
    shown = str(name)[:SHOWN]
    return f"{field}.{shown}" if field else shown


def _wrong(value: Any, rule: str, field: str) -> ValueError:
    return ValueError(f"{field or 'the value'} must be {rule}, and is {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"{_NAMES[type(value)]} of {len(value):,}"
    if isinstance(value, int) and abs(value) > 10**SHOWN:
        return "far larger"
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint for name, hint in hints.items()}


@cache
def _required(kind: Any) -> tuple[str, ...]:
    if is_typeddict(kind):
        return tuple(sorted(kind.__required_keys__))
    return tuple(each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING)
