"""The application: which commands there are, in the order of a person's work."""

import typer

from glasshouse.cli import (
    data,
    demo,
    doctor,
    evaluate,
    recipes,
    replay,
    report,
    resume,
    runs,
    sample,
    tokenizer,
    train,
)


def application() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="glasshouse",
        help="Grow Transformers where you can see them: build, train, look inside, swap a part.",
        epilog="Begin with: glasshouse demo",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command in (demo, recipes, train, resume, runs, evaluate, sample, report, replay, doctor):
        name = command.__name__.rsplit(".", 1)[1]
        app.command(name, epilog=command.EXAMPLES)(getattr(command, name))
    app.add_typer(data.app, name="data")
    app.add_typer(tokenizer.app, name="tokenizer")
    return app
