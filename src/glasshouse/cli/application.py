"""The application: which commands there are, in the order of a person's work."""

import typer

from glasshouse.cli import (
    augment,
    certify,
    claim,
    claims,
    classify,
    compare,
    data,
    demo,
    doctor,
    evaluate,
    export,
    features,
    few_shot,
    import_,
    parts,
    prompt,
    recipes,
    replay,
    report,
    resume,
    runs,
    sample,
    studies,
    sweep,
    tokenizer,
    train,
    translate,
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
    making, using = (demo, recipes, parts, train, resume), (runs, evaluate, sample, classify, translate, prompt, report)
    trying, judging = (features, few_shot, augment), (compare, sweep, studies, claim)
    for command in (*making, *using, *judging, *trying, import_, export, certify, replay, doctor):
        name = command.__name__.rsplit(".", 1)[1]
        # `import` is a word of Python's own, so its file and function end in an underscore.
        app.command(name.rstrip("_").replace("_", "-"), epilog=command.EXAMPLES)(getattr(command, name))
    app.add_typer(claims.app, name="claims")
    app.add_typer(data.app, name="data")
    app.add_typer(tokenizer.app, name="tokenizer")
    return app
