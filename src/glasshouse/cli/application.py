"""The typer application: the commands in groups, and the order in which a user needs them."""

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer
from rich.markup import escape

from glasshouse import __version__

# Group of the help -> the commands in it. Each stands in the module of its name; one with subcommands has an `app`.
GROUPS = {
    "Begin": "demo train sample look compare report",
    "Train and use": "recipes parts resume runs evaluate classify translate describe prompt card pages serve",
    "Look inside": "lens attribute patch heads prune gradients replay",
    "Compare and judge": "sweep studies claim claims certify",
    "Your data": "data tokenizer features few-shot augment",
    "Exchange": "import export pack unpack",
    "Language models": "ask chat grid debate recover",
    "Scale and clusters": "scale jobs cancel sbatch doctor",
}


def print_version(asked: bool) -> None:
    """Print the version and end, if that is what the user asked for."""
    if asked:
        print(f"glasshouse {__version__}")
        raise typer.Exit()


def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    """Build, train, inspect and compare Transformers."""


def application(words: Sequence[str] = ()) -> typer.Typer:
    """The command line: if `words` begin with a command, with that command alone, since reading all of them takes a while."""
    app = typer.Typer(
        name="glasshouse",
        help="Build, train, inspect and compare Transformers.",
        epilog="Begin with: glasshouse demo",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    known = {name for names in GROUPS.values() for name in names.split()}
    wanted = known.intersection(words[:1]) or known
    for group, names in GROUPS.items():
        for name in names.split():
            if name not in wanted:
                continue
            # `import` is a keyword of Python, so its module and function end in an underscore.
            function = name.replace("-", "_") + ("_" if name == "import" else "")
            module = import_module(f"glasshouse.cli.{function}")
            if hasattr(module, "app"):
                app.add_typer(module.app, name=name, rich_help_panel=group)
                continue
            command = getattr(module, function)
            # A bracket in a text, such as [a.txt], is no markup.
            text = escape(inspect.getdoc(command) or "")
            app.command(name, help=text, epilog=escape(module.EXAMPLES), rich_help_panel=group)(command)
    return app
