"""`glasshouse gradients`: how large the gradients of a run are, and how they pass through depth and time."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overwrite, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse gradients demo-lm · glasshouse gradients demo-lm --examples 64 --output gradients.svg · "
    "glasshouse gradients demo-lm --against model.layers=2,8,24 · "
    "glasshouse gradients demo-lm --against model.norm=layer,none"
)
# The distances in time that the table shows.
DISTANCES = (0, 1, 2, 4, 8, 16, 31)


def gradients(
    run: Run,
    data: Annotated[Path | None, typer.Option(help="A file of examples; default: the held-out data of the run.")] = None,
    examples: Annotated[
        int, typer.Option(min=1, callback=at_most(10**9), help="The number of examples for the norms.")
    ] = 16,
    against: Annotated[
        str | None,
        typer.Option(metavar="FIELD=V1,V2,...", help="Compare new models like that of the run for these values of a field."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="A file for a figure, .svg or .png.")] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show the gradients of a run with its initial weights and at each checkpoint that it has kept.

    The first table has the norm of the loss's gradient by the weights of each layer. The second has the largest and the
    median singular value of Jacobians: of the last token's state by its own embedding, and by that of earlier tokens. Values
    far below 1 vanish, values far above 1 explode. Set training.checkpoint_every to keep more checkpoints.

    With --against, the gradients of new models are compared instead: for other widths, depths, activations or norms.
    """
    from glasshouse.api import inspection, runs
    from glasshouse.cli.tables import console, show

    if output is not None:
        runs.check_output(output, overwrite)
    results = inspection.gradients(run, data, examples, output, device, against)
    if as_json:
        print(json.dumps([asdict(one) for one in results]))
        return
    states = [one.state for one in results]
    norms = {one.state: {layer.layer: layer.norm for layer in one.layers} for one in results}
    deepest = max(results, key=lambda one: len(one.layers))
    rows = [
        (layer.layer, *(f"{norms[state][layer.layer]:.4g}" if layer.layer in norms[state] else "" for state in states))
        for layer in deepest.layers
    ]
    show(("norm of the gradient", *states), rows, right=range(1, 1 + len(states)))
    places = [("depth", f"layer {spread.place}", spread.place) for spread in deepest.depth]
    places += [
        ("time", f"{spread.place} tokens earlier", spread.place) for spread in deepest.time if spread.place in DISTANCES
    ]
    table = []
    for kind, title, place in places:
        by_state = [{spread.place: spread for spread in getattr(one, kind)}.get(place) for one in results]
        cells = [f"{spread.largest:.3g} ({spread.median:.3g})" if spread else "" for spread in by_state]
        table.append((title, *cells))
    show(("singular values, largest (median)", *states), table, right=range(1, 1 + len(states)))
    if output:
        console.print(str(output), markup=False, soft_wrap=True)
