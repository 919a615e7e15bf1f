"""`glasshouse describe`: write the caption of a picture."""

import json
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overwrite, Run

EXAMPLES = (
    "Examples: glasshouse describe scene-describer fish.png · "
    "glasshouse describe scene-describer 0 1 2 --output captions.png · "
    "glasshouse describe scene-describer --json"
)


def describe(
    run: Run,
    pictures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PICTURE", help="Picture files, or numbers of held-out pictures; default: the first six of these."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="The image file to write: .png, .svg or .pdf.")] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Write the caption of each picture, beside that of the data where it has one."""
    from glasshouse.api import runs
    from glasshouse.api.experiments import describe
    from glasshouse.cli.tables import console, show

    if output is not None:
        runs.check_output(output, overwrite)
    found = describe(run, pictures or (), output, device)
    if as_json:
        print(json.dumps([{"picture": each.name, "text": each.text, "caption": each.caption} for each in found]))
        return
    known = any(each.caption for each in found)
    rows = [(each.name, each.text, *((each.caption,) if known else ())) for each in found]
    show(("picture", "the model writes", *(("caption of the data",) if known else ())), rows)
    if output is not None:
        console.print(f"image   {output}", markup=False, soft_wrap=True)
