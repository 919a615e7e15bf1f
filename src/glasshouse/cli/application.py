"""The typer application: the list of commands, in the order in which a user needs them."""

import inspect
from typing import Annotated

import typer
from rich.markup import escape

from glasshouse import __version__
from glasshouse.cli import (
    ask,
    attribute,
    augment,
    cancel,
    card,
    certify,
    chat,
    claim,
    claims,
    classify,
    compare,
    data,
    debate,
    demo,
    describe,
    doctor,
    evaluate,
    export,
    features,
    few_shot,
    gradients,
    grid,
    heads,
    import_,
    jobs,
    lens,
    look,
    pack,
    pages,
    parts,
    patch,
    prompt,
    prune,
    recipes,
    recover,
    replay,
    report,
    resume,
    runs,
    sample,
    sbatch,
    scale,
    serve,
    studies,
    sweep,
    tokenizer,
    train,
    translate,
    unpack,
)


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


def application() -> typer.Typer:
    """The whole command line."""
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
    training = (demo, recipes, parts, train, resume)
    using_runs = (evaluate, sample, classify, translate, describe, prompt, report, card, pages, serve)
    looking_inside = (look, lens, attribute, patch, heads, prune, gradients)
    comparing = (compare, sweep, studies, claim)
    on_a_cluster = (jobs, cancel, sbatch)
    experiments = (features, few_shot, augment, recover)
    language_models = (ask, chat, grid, debate)
    for command in (
        *training,
        *using_runs,
        *looking_inside,
        *comparing,
        *on_a_cluster,
        *experiments,
        *language_models,
        import_,
        export,
        pack,
        unpack,
        certify,
        replay,
        doctor,
    ):
        name = command.__name__.rsplit(".", 1)[1]
        # `import` is a keyword of Python, so its module and function end in an underscore.
        function = getattr(command, name)
        # A bracket in a text, such as [hardware], is no markup.
        text = escape(inspect.getdoc(function) or "")
        app.command(name.rstrip("_").replace("_", "-"), help=text, epilog=escape(command.EXAMPLES))(function)
    app.add_typer(runs.app, name="runs")
    app.add_typer(claims.app, name="claims")
    app.add_typer(scale.app, name="scale")
    app.add_typer(data.app, name="data")
    app.add_typer(tokenizer.app, name="tokenizer")
    return app
