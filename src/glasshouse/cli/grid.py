"""`glasshouse grid`: every model answers every question several times."""

from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Config, Device, MaxTokens, Temperature, TopP
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse grid --models demo-lm,gguf:model.gguf · "
    "glasshouse grid questions.toml --models a,b,c --temperature 0.7 --repeats 5 · "
    "glasshouse grid questions.toml --models remote --cached --output grids/remote"
)


def grid(
    questions: Annotated[
        Path | None,
        typer.Argument(metavar="QUESTIONS", help="A TOML file; default: four questions that ship with the package."),
    ] = None,
    models: Annotated[
        str, typer.Option(metavar="A,B,C", help="The models, as in `glasshouse ask`, separated by commas.")
    ] = "",
    temperature: Temperature = 0.7,
    repeats: Annotated[
        int, typer.Option(min=1, callback=at_most(10**5), help="How often each model answers each question.")
    ] = 5,
    max_tokens: MaxTokens = 256,
    top_p: TopP = 1.0,
    seed: Annotated[
        int,
        typer.Option(callback=at_most(2**63 - 1), help="The random seed, from which every answer gets a seed of its own."),
    ] = 0,
    cached: Annotated[
        bool, typer.Option("--cached", help="Ask once, and use the first answer for all repeats, marked as cached.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder of the grid; default: grids/NAME-HASH.")
    ] = None,
    config: Config = None,
    device: Device = "auto",
) -> None:
    """Ask several models the same questions, check the answers, and lay them side by side on a page.

    Answers are kept as they come; a killed grid continues with the same command.
    """
    import glasshouse
    from glasshouse.api import llms
    from glasshouse.cli.grid_display import display, print_results

    names = [name.strip() for name in models.split(",") if name.strip()]
    opened = llms.open_grid(questions, names, temperature, repeats, max_tokens, top_p, seed, cached, output, config, device)
    with display(opened) as show:
        outcome = llms.run_grid(opened, show)
    print_results(outcome)
    if outcome.failed:
        model, error = next(iter(outcome.failed.items()))
        raise glasshouse.GlasshouseError(f"{model} did not answer everything: {error}; then continue with the same command")
