"""`glasshouse prompt`: rank prompts by their similarity to a picture, and retrieve pictures for each prompt."""

import json
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overwrite, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    'Examples: glasshouse prompt scene-clip --target fish.png "two goldfish" "two nemos" · '
    'glasshouse prompt scene-clip --target 12 "two red circles" --output prompts.html · '
    "glasshouse prompt scene-clip"
)


def prompt(
    run: Run,
    prompts: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROMPT", help="Texts, each in quotes; default: the captions most similar to the picture."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="A picture file, or the number of a held-out picture; default: 0.")
    ] = None,
    pictures: Annotated[
        int, typer.Option(min=0, callback=at_most(10_000), help="The number of pictures to retrieve for each prompt.")
    ] = 6,
    output: Annotated[
        Path | None,
        typer.Option(help="The page to write, .html; default: prompting.html in the run."),
    ] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Rank prompts by their similarity to a picture, and write a page with the pictures that each prompt retrieves."""
    from glasshouse.api import runs
    from glasshouse.api.experiments import prompt
    from glasshouse.cli.tables import console, show
    from glasshouse.pages.retrieval_page import ordinal

    if output is not None:
        runs.check_output(output, overwrite)
    result, path = prompt(run, prompts or (), target, pictures, output, device)
    if as_json:
        rows = [
            {
                "prompt": ranked.prompt,
                "similarity": ranked.similarity,
                "caption_place": ranked.caption_place,
                "picture_place": ranked.picture_place,
                "unknown": ranked.unknown,
                "retrieved": [{"caption": item.caption, "similarity": item.similarity} for item in ranked.retrieved],
            }
            for ranked in result.prompts
        ]
        print(json.dumps({"target": result.name, "caption": result.caption, "prompts": rows, "page": str(path)}))
        return
    console.print(f"{result.name}: {result.caption}" if result.caption else result.name, markup=False)
    show(
        (
            "prompt",
            "similarity",
            f"rank of {result.captions:,} captions",
            f"rank of target, {result.pictures:,} pictures",
            "unknown words",
        ),
        [
            (
                ranked.prompt,
                f"{ranked.similarity:.3f}",
                ordinal(ranked.caption_place),
                ordinal(ranked.picture_place),
                ", ".join(ranked.unknown),
            )
            for ranked in result.prompts
        ],
        right=(1, 2, 3),
    )
    console.print(f"page    {path}", markup=False, soft_wrap=True)
