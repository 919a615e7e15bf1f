"""What a field of a spec may hold: its type, its range, its help, and how a command line's text becomes its value.

Knows no particular field. `spec.py` declares the fields that every run has; a part declares its own (see `declared.py`).
"""

import dataclasses
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError


@dataclass(frozen=True)
class FieldRule:
    """What a field means and which values it takes.

    `family` names a catalogue: the value is one of its words. `instead_of` names a field of the same section that setting
    this one switches off. `of_task` marks a field that only some tasks read; such a task lists it in `Task.reads`.
    """

    about: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    family: str | None = None
    instead_of: str | None = None
    of_task: bool = False


class SpecField(NamedTuple):
    """One field: its type, its rule and its default value."""

    kind: Any
    rule: FieldRule
    default: Any


def setting(default: Any, about: str, **rule: Any) -> Any:
    """A dataclass field with its rule."""
    return dataclasses.field(default=default, metadata={"rule": FieldRule(about, **rule)})


@cache
def fields(section: type) -> dict[str, SpecField]:
    """Every field that a dataclass declares with `setting`, by name and in order."""
    hints = get_type_hints(section)
    plain = [f for f in dataclasses.fields(section) if "rule" in f.metadata]
    return {f.name: SpecField(hints[f.name], f.metadata["rule"], f.default) for f in plain}


def from_text(kind: Any, text: str, where: str) -> Any:
    """The value that a command line's `field=text` means for a field of this type."""
    text = text.strip()
    if get_origin(kind) is tuple:
        if text.startswith("[") and text.endswith("]"):
            with suppress(tomllib.TOMLDecodeError):  # quoted items may hold commas
                return coerce(kind, tomllib.loads(f"list = {text}")["list"], where)
            return tuple(part.strip().strip("\"'") for part in text[1:-1].split(",") if part.strip())
        return (text,)
    if kind is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise SpecError("wrong-type", f"{where}={text!r} is not a truth value; write true or false")
    if kind is int:
        try:
            return int(text)
        except ValueError:
            number = _number(text)
            if number is not None and number.is_integer():
                return int(number)
            raise SpecError("wrong-type", f"{where}={text!r} is not a whole number; write for example {where}=100") from None
    if kind is float:
        number = _number(text)
        if number is None:
            raise SpecError("wrong-type", f"{where}={text!r} is not a number; write for example {where}=0.001")
        return number
    return text


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def coerce(kind: Any, value: Any, where: str) -> Any:
    """A value from TOML or Python as the field's type, where that loses nothing; otherwise an error."""
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        values = (value,) if isinstance(value, item) else value
        if isinstance(values, list | tuple) and all(isinstance(v, item) for v in values):
            return tuple(values)
        raise SpecError("wrong-type", f"{where}={value!r} is not a list of {_noun(item)}")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if (kind is int and isinstance(value, bool)) or not isinstance(value, kind):
        raise SpecError("wrong-type", f"{where}={value!r} is not {_noun(kind)}")
    return value


def _noun(kind: type) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[kind]


def check(value: Any, rule: FieldRule, where: str) -> None:
    """Refuse a value that its field's rule does not allow."""
    if rule.choices and value not in rule.choices:
        close = catalogue.nearest(str(value), rule.choices)
        raise SpecError("unknown-word", f"{where}={value!r} is not one of: {', '.join(rule.choices)}{close}")
    if rule.family and value:
        for name in value if isinstance(value, tuple) else (value,):
            catalogue.check(rule.family, name, where)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value != value:
            raise SpecError("not-finite", f"{where} is not a number (NaN); give a finite value")
        if value in (float("inf"), float("-inf")):
            raise SpecError("not-finite", f"{where}={value} is not possible; give a finite value")
        if rule.minimum is not None and value < rule.minimum:
            raise SpecError("out-of-range", f"{where}={value:g} is below {rule.minimum:g}, the smallest value allowed")
        if rule.maximum is not None and value > rule.maximum:
            raise SpecError("out-of-range", f"{where}={value:g} is above {rule.maximum:g}, the largest value allowed")
