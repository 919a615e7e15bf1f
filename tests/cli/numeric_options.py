"""Every option and argument of every command that is a number, found by reading the signatures of the commands."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer
from typer.models import ParameterInfo

from glasshouse.cli.application import application
from glasshouse.generation.sampling_options import Sampling
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.llms.language_model import GridOptions
from glasshouse.scaling.scaling_options import FitOptions, PlanOptions
from glasshouse.specs.options import fields
from glasshouse.studies.study_options import StudyOptions

# The limits of options that a dataclass declares.
DECLARED = {
    name: field.rule.maximum
    for kind in (FitOptions, GridOptions, Sampling, StudyOptions, Slurm, PlanOptions)
    for name, field in fields(kind).items()
}


class NumericOption(NamedTuple):
    """A number on the command line, with the range that typer holds it to."""

    command: str
    name: str
    kind: type
    minimum: float | None
    maximum: float | None


def all_numbers() -> list[NumericOption]:
    return list(_of_app(application(), ""))


def _of_app(app: typer.Typer, prefix: str) -> Iterator[NumericOption]:
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        yield from _of_function(command.callback, f"{prefix}{name}")
    if app.registered_callback and app.registered_callback.callback:
        yield from _of_function(app.registered_callback.callback, prefix.strip())
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from _of_app(group.typer_instance, f"{prefix}{group.name} ")


def _of_function(function: Callable[..., Any], command: str) -> Iterator[NumericOption]:
    for name, hint in get_type_hints(function, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        kind, *extras = get_args(hint)
        kinds = {part for part in _parts(kind) if part in (int, float)}
        for info in extras:
            if kinds and isinstance(info, ParameterInfo):
                most = info.max if info.max is not None else getattr(info.callback, "most", DECLARED.get(name))
                yield NumericOption(command, name, kinds.pop(), info.min, most)


def _parts(kind: Any) -> list[Any]:
    return [part for inner in get_args(kind) for part in _parts(inner)] or [kind]
