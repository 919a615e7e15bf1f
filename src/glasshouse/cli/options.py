"""Options and arguments of commands: their short form, those that several commands share, and those of a dataclass."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from rich.markup import escape

from glasshouse.cli.tables import console
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.options import fields, given

# A command yields what --json prints, or it returns None.
Command = Callable[..., Iterable[object] | None]
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def argument(text: str, metavar: str | None = None) -> Any:
    """An argument of a command. `text` is its help."""
    return typer.Argument(metavar=metavar, help=text)


def option(text: str, *names: str, low: float | None = None, high: float | None = None, **others: Any) -> Any:
    """An option of a command. No help shows the limit `high`: it is far beyond any use."""
    if high is not None:
        others["callback"] = at_most(high)
    return typer.Option(*names, help=text, min=low, **others)


def at_most(most: float) -> Callable[[float | None], float | None]:
    """Refuse a larger number."""

    def check(value: float | None) -> float | None:
        if value is not None and value > most:
            raise typer.BadParameter(f"more than {most:,}")
        return value

    check.most = most  # type: ignore[attr-defined]
    return check


Run = Annotated[str, argument("The name of a run (see `glasshouse runs`) or its folder.", "RUN")]
RunOrStudy = Annotated[
    str, argument("The name of a run or a study (see `glasshouse runs` and `studies`) or its folder.", "NAME")
]
Device = Annotated[str, option("The device to compute on: auto, cpu, cuda or mps.")]
DType = Annotated[
    str,
    option(
        "The number format of the weights. bfloat16 is faster on a GPU, int8 on a CPU; both are less precise.",
        metavar="float32|bfloat16|int8",
    ),
]
Overrides = Annotated[
    list[str] | None,
    argument("Fields of the spec to change, such as model.width=64; lr, batch_size, n_layer, ... work too.", "FIELD=VALUE"),
]
Words = Annotated[
    list[str] | None,
    argument(
        "Recipes and changes to them: model.norm=layer,rms makes an arm per value, model.width=64 applies to all arms.",
        "RECIPE... FIELD=VALUES...",
    ),
]
On = Annotated[
    Literal["slurm"] | None,
    option("Where the work is done: slurm submits it to the cluster; default: on this machine.", "--on"),
]
RunName = Annotated[str | None, option("The name of the run; default: the name of the recipe.")]
Limits = Annotated[
    str,
    option(
        "Raise limits on what is read of a file: line=100 (million characters), expansion, table, nesting, columns.",
        metavar="NAME=NUMBER,...",
    ),
]
Raw = Annotated[bool, option("Leave control characters as they are where the output is no terminal.", "--raw")]
AsJson = Annotated[bool, option("Print JSON instead of text.", "--json")]
Overwrite = Annotated[bool, option("Replace the file of --output if it exists.", "--overwrite")]
Figure = Annotated[Path | None, option("A file for a figure, .svg or .png.")]
Text = Annotated[str, option("The text to look at.")]
Position = Annotated[
    int | None, option("The token at which the prediction is made, counted from 1; default: the last one.", high=10**7)
]
Data = Annotated[Path | None, option("A file of examples; default: the held-out data of the run.")]
Examples = Annotated[int, option("The number of examples to measure on.", low=1, high=10**9)]
LabelledData = Annotated[
    str, option("A labelled data set (see `glasshouse data`) or a file of labelled rows.", "--task", metavar="DATA")
]
Field = Annotated[str, option("The field of a .csv or .jsonl row that holds the text.")]
Label = Annotated[str, option("The field of a row that holds the class.")]
LanguageModel = Annotated[str, argument("A model of llms.toml, the name of a run (or run:NAME), or gguf:FILE.", "MODEL")]
Config = Annotated[Path | None, option("The list of language models; default: llms.toml, if it exists.", metavar="FILE")]
System = Annotated[str, option("A system message: what the model is told before the chat.")]


def has_options(kind: type, leave_out: Sequence[str] = (), **defaults: object) -> Callable[[Command], Command]:
    """Give a command the options that a dataclass declares (specs/options.py), in place of the parameter of this type.

    `leave_out` are options that this command lacks, and `defaults` are its own defaults.
    """

    def decorate(command: Command) -> Command:
        declared = {name: field for name, field in fields(kind).items() if name not in leave_out}
        parameters = list(inspect.signature(command).parameters.values())
        [place] = [place for place, each in enumerate(parameters) if each.annotation is kind]

        @wraps(command)
        def with_object(**values: object) -> Iterable[object] | None:
            chosen = {name: values.pop(name) for name in declared}
            return command(**values, **{parameters[place].name: kind(**chosen)})

        added = []
        for name, field in declared.items():
            shown = option(field.rule.about, f"--{name.replace('_', '-')}", metavar=field.rule.metavar or None)
            # Of several types, the first is what one types.
            typed = get_args(field.kind)[0] if get_args(field.kind) else field.kind
            hint: Any = Annotated[typed if field.default is not None else typed | None, shown]
            added.append(inspect.Parameter(name, KEYWORD, default=defaults.get(name, field.default), annotation=hint))
        return _with_parameters(with_object, [*parameters[:place], *added, *parameters[place + 1 :]])

    return decorate


def writes_output(command: Command) -> Command:
    """Give a command --overwrite, without which an --output that exists is refused. What was written is named at the end."""

    @wraps(command)
    def with_check(overwrite: bool, **values: Any) -> Iterator[object]:
        from glasshouse.api import runs

        runs.check_output(values["output"], overwrite=overwrite)
        yield from command(**values) or ()
        if values["output"] and not values.get("as_json"):
            console.print(f"wrote {values['output']}")

    parameters = list(inspect.signature(command).parameters.values())
    place = [each.name for each in parameters].index("output") + 1
    parameters.insert(place, inspect.Parameter("overwrite", KEYWORD, default=False, annotation=Overwrite))
    return _with_parameters(with_check, parameters)


def _with_parameters(command: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """A command that takes these parameters, as the command line reads them."""
    keywords = [each.replace(kind=KEYWORD) for each in parameters]
    command.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _printing(command: Command) -> Command:
    """Run a command. One that yields has --json: what it yields first is printed, and not what it prints for a reader."""
    yields = inspect.isgeneratorfunction(inspect.unwrap(command))

    @wraps(command)
    def run(**values: object) -> None:
        as_json = yields and values.pop("as_json")
        for result in command(**values) or ():
            if as_json:
                print(json.dumps(result, default=asdict))
                return

    parameters = list(inspect.signature(command).parameters.values())
    if yields:
        parameters.append(inspect.Parameter("as_json", KEYWORD, default=False, annotation=AsJson))
    return _with_parameters(run, parameters)


def name_of(function: str) -> str:
    """The name of a command: that of its function, which ends in an underscore if Python needs the word."""
    return function.strip("_").replace("_", "-")


def add(app: typer.Typer, command: Command, panel: str | None = None) -> None:
    """Add a command under its name. Its docstring is the help, and ends with examples, one a line."""
    app.command(name_of(command.__name__), rich_help_panel=panel, **_help(command))(_printing(command))


def group(listing: Command, *commands: Command) -> typer.Typer:
    """Commands within a command. By itself it does what `listing` does, or shows the help if it has no context."""
    lists = "context" in inspect.signature(listing).parameters
    app = typer.Typer(name=listing.__name__, invoke_without_command=lists, no_args_is_help=not lists, **_help(listing))
    app.callback()(_printing(listing))
    for command in commands:
        add(app, command)
    return app


def _help(command: Command) -> dict[str, Any]:
    # A bracket in a text, such as [a.txt], is no markup.
    text, _, examples = escape(inspect.getdoc(command) or "").partition("\n\nExamples:\n")
    return {"help": text, "epilog": f"Examples: {' · '.join(line.strip() for line in examples.splitlines())}"}


def cluster(on: str | None, slurm: Slurm) -> Slurm | None:
    """The cluster that --on names, or None. Refuses its options without --on."""
    if on is not None:
        return slurm
    for name in given(slurm):
        typed = f"--{name.replace('_', '-')}"
        raise GlasshouseError(f"{typed} works only with --on slurm; add it, or leave {typed} out")
    return None
