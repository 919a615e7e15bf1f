"""Options of commands that a dataclass declares (specs/options.py): typer reads them from the command's signature."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from glasshouse.launching.cluster_settings import Slurm
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.options import Option, given, options_of

Command = Callable[..., None]


def has_options(kind: type, leave_out: Sequence[str] = (), **defaults: Any) -> Callable[[Command], Command]:
    """Give a command the options of a dataclass, in place of the parameter that has this type.

    `leave_out` are options that this command lacks, and `defaults` are its own defaults.
    """

    def decorate(command: Command) -> Command:
        declared = [option for option in options_of(kind) if option.name not in leave_out]
        hints = get_type_hints(command, include_extras=True)
        [taken] = [name for name, hint in hints.items() if hint is kind]

        @wraps(command)
        def with_object(**given: Any) -> None:
            values = {option.name: given.pop(option.name) for option in declared}
            command(**given, **{taken: kind(**values)})

        annotations = {name: hint for name, hint in hints.items() if name != taken}
        parameters = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name != taken:
                parameters.append(parameter.replace(annotation=annotations.get(parameter.name, Any), kind=KEYWORD))
                continue
            for option in declared:
                default = defaults.get(option.name, option.default)
                annotations[option.name] = _annotation(option)
                parameters.append(
                    inspect.Parameter(option.name, KEYWORD, default=default, annotation=annotations[option.name])
                )
        with_object.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_object.__annotations__ = annotations
        return with_object

    return decorate


KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _annotation(option: Option) -> Any:
    name = f"--{option.name.replace('_', '-')}"
    shown = typer.Option(name, metavar=option.metavar or None, help=option.text)
    return Annotated[option.kind if option.default is not None else option.kind | None, shown]


def at_most(most: float) -> Callable[[float | None], float | None]:
    """Refuse a larger number. No help shows this limit: it is far beyond any use."""

    def check(value: float | None) -> float | None:
        if value is not None and value > most:
            raise typer.BadParameter(f"{value} is more than {most:,}.")
        return value

    check.most = most  # type: ignore[attr-defined]
    return check


def cluster(on: str | None, slurm: Slurm) -> Slurm | None:
    """The cluster that --on names, or None. Refuses its options without --on."""
    if on is None:
        for name in given(slurm):
            option = f"--{name.replace('_', '-')}"
            raise GlasshouseError(f"{option} works only with --on slurm; add it, or leave {option} out")
        return None
    return slurm
