"""Options: one declaration of a field gives the option of a command, the documentation of a function and the kept entry.

Options are the fields of a frozen dataclass that are declared with `setting`.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from glasshouse.specs import spec_fields
from glasshouse.specs.catalogue import did_you_mean
from glasshouse.specs.errors import GlasshouseError, plain
from glasshouse.specs.spec_fields import fields

Function = TypeVar("Function", bound=Callable[..., Any])


def check(options: Any, error: type[GlasshouseError] = GlasshouseError) -> None:
    """Refuse a value that its rule does not allow."""
    for name, field in fields(options.__class__).items():
        spec_fields.check(getattr(options, name), field.rule, name, error)


def given(options: Any) -> dict[str, Any]:
    """The options that differ from their defaults, by name."""
    declared = fields(options.__class__).items()
    return {name: value for name, field in declared if (value := getattr(options, name)) != field.default}


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
    """Document that the `**options` of a function are those of a dataclass, and refuse the names of others."""

    def decorate(function: Function) -> Function:
        options = {name: field for name, field in fields(kind).items() if name not in leave_out}
        signature = inspect.signature(function)
        kept = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.kind)
            for name, field in options.items()
        ]
        names = [each.name for each in (*kept, *added)]

        @wraps(function)
        def checked(*arguments: object, **values: object) -> object:
            for name in [name for name in values if name not in names]:
                hint = did_you_mean(name, names) or f"; choose from: {', '.join(names)}"
                raise GlasshouseError(f"is not an option of {function.__name__}{hint}", name, values[name])
            return function(*arguments, **values)

        checked.__dict__["__signature__"] = signature.replace(parameters=[*kept, *added])
        lines = "\n".join(f"    {name}: {field.rule.about}" for name, field in options.items())
        checked.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n{lines}"
        return cast(Function, checked)

    return decorate
