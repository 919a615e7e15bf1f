"""The typer application: the commands in groups, and the order in which a user needs them."""

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from glasshouse import __version__
from glasshouse.cli.options import add, name_of, option

# Group of the help -> MODULE.FUNCTION of the commands in it. An `app` holds commands of its own.
GROUPS = {
    "Begin": "training.demo training.train predictions.sample heads.look studies.compare exchange.report",
    "Train and use": "training.recipes training.parts training.resume runs.app evaluation.evaluate predictions.classify "
    "predictions.translate pictures.describe pictures.prompt exchange.card servers.pages servers.serve",
    "Look inside": "activations.lens activations.attribute activations.patch heads.heads heads.prune activations.gradients "
    "training.replay",
    "Compare and judge": "studies.sweep studies.studies claims.claim claims.app exchange.certify",
    "Your data": "data.app tokenizer.app evaluation.features evaluation.few_shot evaluation.augment",
    "Exchange": "exchange.import_ exchange.export exchange.pack exchange.unpack",
    "Language models": "language_models.ask language_models.chat language_models.grid language_models.debate "
    "language_models.recover",
    "Scale and clusters": "scale.app jobs.jobs jobs.cancel jobs.sbatch doctor.doctor",
}


def print_version(asked: bool) -> None:
    """Print the version and end, if that is what the user asked for."""
    if asked:
        print(f"glasshouse {__version__}")
        raise typer.Exit()


def options(
    version: Annotated[
        bool, option("Print the version and exit.", "--version", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    """Build, train, inspect and compare Transformers."""


def application(words: Sequence[str] = ()) -> typer.Typer:
    """The command line: if `words` begin with a command, that command alone, since reading all of them takes a while."""
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
    commands = [(panel, *place.split(".")) for panel, places in GROUPS.items() for place in places.split()]
    typed = [each for each in commands if name_of(each[1] if each[2] == "app" else each[2]) in words[:1]]
    for panel, module, name in typed or commands:
        command = getattr(import_module(f"glasshouse.cli.{module}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=panel)
        else:
            add(app, command, panel)
    return app
