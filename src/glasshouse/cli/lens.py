"""`glasshouse lens`: what each layer of a model would predict."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overwrite, Run

EXAMPLES = (
    'Examples: glasshouse lens demo-lm --text "The state of the union is" · '
    'glasshouse lens demo-lm --text "The state of the union is" --output lens.svg'
)
# Columns of the table: the last predictions of a text.
SHOWN = 4


def lens(
    run: Run,
    text: Annotated[str, typer.Option(help="The text to look at.")],
    output: Annotated[Path | None, typer.Option(help="A file for a figure of all positions, .svg or .png.")] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Apply the final norm and the head to the residual stream after each layer (the logit lens).

    The table shows the likeliest output of each layer with its probability, and the rank of the model's own prediction.
    """
    import glasshouse
    from glasshouse.api import runs
    from glasshouse.cli.tables import console, show
    from glasshouse.formatting import visible

    if output is not None:
        runs.check_output(output, overwrite)
    result = glasshouse.lens(run, text, output, device)
    if as_json:
        print(json.dumps(asdict(result)))
        return
    first = max(len(result.rows) - SHOWN, 0)
    titles = [f"after {visible(token)}" if token else "the whole text" for token in result.rows[first:]]
    rows = [
        (stage, *(f"{visible(cell.name)} {cell.probability:.2f} ({cell.rank:,})" for cell in cells[first:]))
        for stage, cells in zip(result.stages, result.cells, strict=True)
    ]
    show(("layer", *titles), rows)
    console.print("output, its probability (rank of the model's own prediction)", markup=False)
    if output:
        console.print(str(output), markup=False, soft_wrap=True)
