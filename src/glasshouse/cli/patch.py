"""`glasshouse patch`: which activations carry the difference between two texts."""

import json
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overwrite, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    'Examples: glasshouse patch stories --clean "a little girl named" --corrupt "a little boy named" · '
    'glasshouse patch demo-lm --clean "The state of the union" --corrupt "The state of the world" --output patch.svg'
)
# The most effective patches of each map that are printed.
SHOWN = 3


def patch(
    run: Run,
    clean: Annotated[str, typer.Option(help="The text whose activations are inserted.")],
    corrupt: Annotated[str, typer.Option(help="The text into which they are inserted; it has as many tokens.")],
    position: Annotated[
        int | None,
        typer.Option(
            callback=at_most(10**7), help="The token at which the prediction is made, counted from 1; default: the last one."
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="The output of the clean text; default: its prediction.")] = None,
    against: Annotated[str | None, typer.Option(help="The output of the corrupt text; default: its prediction.")] = None,
    output: Annotated[Path | None, typer.Option(help="A file for heat maps of all patches, .svg or .png.")] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Insert activations of a clean text into a corrupt one, one layer and token or head at a time (activation patching).

    The outcome is the logit of the target minus that of the other output. A patch that restores 1 brings back the outcome of
    the clean text; one that restores 0 changes nothing.
    """
    import numpy as np

    import glasshouse
    from glasshouse.api import runs
    from glasshouse.cli.tables import console, show
    from glasshouse.formatting import visible

    if output is not None:
        runs.check_output(output, overwrite)
    result = glasshouse.patch(run, clean, corrupt, position, target, against, output, device)
    if as_json:
        maps = [
            {"title": one.title, "rows": one.rows, "columns": one.columns, "restored": one.restored.tolist()}
            for one in result.maps
        ]
        outcomes = {"clean_outcome": result.clean_outcome, "corrupt_outcome": result.corrupt_outcome}
        print(json.dumps({"clean": result.clean.name, "corrupt": result.corrupt.name, **outcomes, "maps": maps}))
        return
    names = visible(result.clean.name), visible(result.corrupt.name)
    meaning = f"logit of {names[0]}" + (f" minus logit of {names[1]}" if names[0] != names[1] else "")
    console.print(
        f"outcome ({meaning}): clean {result.clean_outcome:.3f}, corrupt {result.corrupt_outcome:.3f}", markup=False
    )
    rows = []
    for one in result.maps:
        order = np.argsort(-np.nan_to_num(one.restored, nan=-np.inf), axis=None)[:SHOWN]
        for index in order:
            row, column = np.unravel_index(index, one.restored.shape)
            place = ("head " if one.of_heads else "") + visible(one.columns[column])
            rows.append((one.title, one.rows[row], place, f"{one.restored[row, column]:.2f}"))
    show(("most effective patches", "layer", "token or head", "restored"), rows, right=(3,))
    if output:
        console.print(str(output), markup=False, soft_wrap=True)
