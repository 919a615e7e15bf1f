"""A command line, read by the program's own parser and, where it has a recipe, down to the spec. Nothing is run."""

from dataclasses import dataclass
from typing import Any

import typer.main

import glasshouse
from glasshouse.cli.application import application
from glasshouse.specs import catalogue
from glasshouse.specs.spec import Spec
from glasshouse.studies import arms

from .collected import Line

# What the parser says of a mention without all its arguments. Some versions of typer have a copy of click's exceptions.
LEFT_OUT = ("MissingParameter", "BadOptionUsage", "NoArgsIsHelpError")
PROGRAM: Any = typer.main.get_command(application())


@dataclass(frozen=True)
class Parsed:
    """The words of the command, such as `("scale", "plan")`, and its parameters by their names in Python."""

    command: tuple[str, ...]
    parameters: dict[str, Any]


def parse(line: Line) -> Parsed | None:
    """Read a line as the program would; None if it leaves out arguments. Raises what the parser raises."""
    command, context, words = PROGRAM, None, [word for word in line.words if word != "--help"]
    path: list[str] = []
    while getattr(command, "commands", None) and words and not words[0].startswith("-"):
        context = command.make_context(path[-1] if path else "glasshouse", words, parent=context)
        name, command, words = command.resolve_command(context, words)
        path.append(name)
    if "..." in words or (line.mention and not words):
        check_options(command, words)
        return None
    try:
        return Parsed(tuple(path), command.make_context(path[-1], words, parent=context).params)
    except Exception as error:
        if not line.mention or type(error).__name__ not in LEFT_OUT:
            raise
        check_options(command, words)
        return None


def check_options(command: Any, words: list[str]) -> None:
    """Every option of a mention is one of the command."""
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words if word.startswith("--") and word.split("=")[0] not in known]
    assert not unknown, f"no such option: {unknown}"


def specs_of(parsed: Parsed) -> list[Spec]:
    """The specs of all models that the line trains or plans, resolved with its overrides."""
    parameters = parsed.parameters
    match parsed.command:
        case ("compare",) | ("sweep",) if parameters["words"]:
            return [variant.spec for variant in arms.expand(arms.parse(parameters["words"]))]
        case ("scale", "plan") | ("train",) | ("doctor",) | ("sbatch",) if parameters["recipe"]:
            return [glasshouse.runs.spec_of(parameters["recipe"], *(parameters["overrides"] or ()))]
        case ("claim",):
            catalogue.find("claim", parameters["name"], "claim")
    return []
