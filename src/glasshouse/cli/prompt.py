"""`glasshouse prompt`: which of several texts goes best with a picture, and which pictures each of them finds."""

import json
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = (
    'Examples: glasshouse prompt scene-clip --target fish.png "two goldfish" "two nemos" · '
    'glasshouse prompt scene-clip --target 12 "two red circles" --output prompts.png · '
    "glasshouse prompt scene-clip"
)


def prompt(
    run: Run,
    prompts: Annotated[
        list[str] | None, typer.Argument(metavar="PROMPT", help="Texts, each in quotes; by default the closest captions.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="A picture file, or the number of a held-out picture; by default the first of these.")
    ] = None,
    pictures: Annotated[int, typer.Option(min=0, help="How many pictures each prompt may find.")] = 6,
    output: Annotated[
        Path | None,
        typer.Option(help="Where to write the page: .html, or .png or .svg for a picture of it."),
    ] = None,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank prompts by how well they go with a picture, and write a page with the pictures that each of them finds."""
    import glasshouse
    from glasshouse.cli.tables import console, show
    from glasshouse.pages.retrieval_page import ordinal

    found, written = glasshouse.prompt(run, prompts or (), target, pictures, output, device)
    if as_json:
        rows = [
            {
                "prompt": answer.prompt,
                "similarity": answer.similarity,
                "caption_place": answer.caption_place,
                "picture_place": answer.picture_place,
                "unknown": answer.unknown,
                "retrieved": [{"caption": each.caption, "similarity": each.similarity} for each in answer.retrieved],
            }
            for answer in found.answers
        ]
        print(json.dumps({"target": found.name, "caption": found.caption, "prompts": rows, "page": str(written)}))
        return
    console.print(f"{found.name}: {found.caption}" if found.caption else found.name, markup=False)
    show(
        ("prompt", "similarity", f"among {found.captions:,} captions", f"finds it, of {found.pictures:,}", "unknown words"),
        [
            (
                answer.prompt,
                f"{answer.similarity:.3f}",
                ordinal(answer.caption_place),
                ordinal(answer.picture_place),
                ", ".join(answer.unknown),
            )
            for answer in found.answers
        ],
        right=(1, 2, 3),
    )
    console.print(f"page    {written}", markup=False, soft_wrap=True)
