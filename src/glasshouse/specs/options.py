"""Options: one declaration of a field gives the option of a command, the documentation of a function and the kept entry.

Options are the fields of a frozen dataclass. `option` declares one of them.
"""

import inspect
import math
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from glasshouse.specs.errors import GlasshouseError, plain

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """One option. `metavar` is the form of its value.

    `low` and `high` are the limits of a number, both allowed; `above` is a lower limit that is not.
    """

    text: str
    metavar: str = ""
    low: float | None = None
    high: float | None = None
    above: float | None = None
    name: str = ""
    default: Any = None
    hint: Any = str

    @property
    def kind(self) -> Any:
        """The type of a value that may also be None or of other types, as one types it."""
        kinds = get_args(self.hint) if get_origin(self.hint) in (Union, types.UnionType) else (self.hint,)
        return next(kind for kind in kinds if kind is not type(None))


def option(default: Any, text: str, metavar: str = "", **limits: Any) -> Any:
    """A field of a dataclass that is an option. `text` is its help."""
    return field(default=default, metadata={"option": Option(text, metavar, **limits)})


def options_of(kind: type) -> tuple[Option, ...]:
    """The options that a dataclass declares."""
    hints = get_type_hints(kind)
    return tuple(
        replace(
            each.metadata["option"],
            name=each.name,
            default=None if each.default is MISSING else each.default,
            hint=hints[each.name],
        )
        for each in fields(kind)
        if "option" in each.metadata
    )


def check(options: object, error: type[GlasshouseError] = GlasshouseError) -> None:
    """Refuse a number outside its limits."""
    for each in options_of(type(options)):
        value = getattr(options, each.name)
        if value is None or not isinstance(value, int | float) or isinstance(value, bool):
            continue
        low, high, above = each.low, each.high, each.above
        # Comparisons with NaN are false.
        fits = (low is None or value >= low) and (high is None or value <= high) and (above is None or value > above)
        if not fits or value == math.inf:
            limits = {"above": above, "at least": low, "at most": high}
            texts = [f"{words} {limit:g}" for words, limit in limits.items() if limit is not None]
            raise error(f"must be {' and '.join(texts) or 'finite'}", each.name, value)


def given(options: object) -> dict[str, Any]:
    """The options that differ from their defaults, by name."""
    values = ((each, getattr(options, each.name)) for each in options_of(type(options)))
    return {each.name: value for each, value in values if value != each.default}


def words(options: object) -> list[str]:
    """The words of a command that give these options."""
    found = []
    for name, value in given(options).items():
        typed = f"--{name.replace('_', '-')}"
        text = repr(value) if isinstance(value, float) else plain(value)
        text = ",".join(map(str, value)) if isinstance(value, list | tuple | range) else text
        found += [typed] if value is True else [typed, text]
    return found


def takes(kind: type, leave_out: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Document that the `**options` of a function are those of a dataclass: in its signature and in its docstring."""

    def decorate(function: Function) -> Function:
        options = [each for each in options_of(kind) if each.name not in leave_out]
        signature = inspect.signature(function)
        kept = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.hint)
            for each in options
        ]
        function.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
        lines = "\n".join(f"    {each.name}: {each.text}" for each in options)
        function.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n{lines}"
        return function

    return decorate
