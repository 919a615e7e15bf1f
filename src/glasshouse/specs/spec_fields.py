"""Declared fields of dataclasses: the type, range and help text, and how text on the command line becomes a value.

This module knows no particular field. `spec.py` declares the fields of every run; a task or a part declares its own
(`declared.py`). The options of a command are declared in the same way (`options.py`).
"""

import dataclasses
import math
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from glasshouse.specs import catalogue, toml_text
from glasshouse.specs.errors import GlasshouseError, SpecError, plain

# The largest whole number, unless the rule of a field says otherwise.
MOST_WHOLE = 10**12


@dataclass(frozen=True)
class FieldRule:
    """What a field means and which values it allows.

    `metavar` is the form of the value in the help of a command. `above` is a limit that is not allowed itself.
    `family` names a catalogue; the value must be one of its names. `instead_of` names a field of the same section; setting
    this field resets that one. A `rare` field is written to a spec file only if it is set, so that the digests of all other
    specs stay as they are.
    """

    about: str
    metavar: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    family: str | None = None
    instead_of: str | None = None
    rare: bool = False


class SpecField(NamedTuple):
    """One field: its type, its rule and its default value."""

    kind: Any
    rule: FieldRule
    default: Any


def setting(default: Any, about: str, metavar: str = "", **rule: Any) -> Any:
    """A dataclass field with its rule."""
    return dataclasses.field(default=default, metadata={"rule": FieldRule(about, metavar, **rule)})


@cache
def fields(section: type) -> dict[str, SpecField]:
    """Every field that a dataclass declares with `setting`, by name, in order of declaration."""
    types = get_type_hints(section)
    declared = [field for field in dataclasses.fields(section) if "rule" in field.metadata]
    return {field.name: SpecField(types[field.name], field.metadata["rule"], field.default) for field in declared}


def from_text(kind: Any, text: str, where: str) -> Any:
    """Parse the text of `field=text` on the command line as a value of the field's type."""
    text = text.strip()
    if get_origin(kind) is tuple:
        if text.startswith("[") and text.endswith("]"):
            with suppress(tomllib.TOMLDecodeError):  # quoted items may hold commas
                return coerce(kind, toml_text.parse(f"list = {text}")["list"], where)
            return tuple(part.strip().strip("\"'") for part in text[1:-1].split(",") if part.strip())
        return (text,)
    if kind is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise SpecError(f"is neither true nor false; write {where}=true or {where}=false", where, text)
    if kind in (int, float):
        number = None
        with suppress(ValueError):
            number = float(text)
        if number is None or (kind is int and not number.is_integer()):
            example = f"{where}={'100' if kind is int else '0.001'}"
            raise SpecError(f"is not {_noun(kind)}; write for example {example}", where, text)
        return kind(number)
    return text


def coerce(kind: Any, value: Any, where: str) -> Any:
    """Convert a value from TOML or Python to the field's type. A conversion that would lose information is an error."""
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        values = (value,) if isinstance(value, item) else value
        if isinstance(values, list | tuple) and all(isinstance(v, item) for v in values):
            return tuple(values)
        raise SpecError(f"must be a list, and each item must be {_noun(item)}", where, value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**1023:
        return float(value)
    if (kind is int and isinstance(value, bool)) or not isinstance(value, kind):
        raise SpecError(f"must be {_noun(kind)}", where, value)
    return value


def _noun(kind: type) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[kind]


def check(value: Any, rule: FieldRule, where: str, error: type[GlasshouseError] = SpecError) -> None:
    """Refuse a value that the field's rule does not allow."""
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str) and any("\ud800" <= sign <= "\udfff" or sign == "\0" for sign in text):
            raise error("has a zero byte or bytes that are no UTF-8; write it in UTF-8", where, text)
        if rule.family and text:
            catalogue.check(rule.family, text, where)
    if rule.choices and value not in rule.choices:
        hint = catalogue.did_you_mean(str(value), rule.choices)
        raise error(f"is not one of: {', '.join(rule.choices)}{hint}", where, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, float) and not math.isfinite(value):
            raise error("is not a finite number; choose one that is", where, value)
        if rule.minimum is not None and value < rule.minimum:
            raise error(f"is below the minimum; choose {plain(rule.minimum)} or more", where, value)
        if rule.above is not None and value <= rule.above:
            raise error(f"is too small; choose a value above {plain(rule.above)}", where, value)
        maximum = MOST_WHOLE if rule.maximum is None and isinstance(value, int) else rule.maximum
        if maximum is not None and value > maximum:
            raise error(f"is above the maximum; choose {plain(maximum)} or less", where, value)
