"""`glasshouse prune`: a smaller run without the least important heads."""

import json
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse prune demo-lm --heads 0.5 --name smaller · "
    "glasshouse prune demo-lm --heads 0.5 --by ablation --then-train 200 --name smaller · "
    "glasshouse prune demo-lm --weights 0.3 --name sparse"
)


def prune(
    run: Run,
    name: Annotated[str, typer.Option(help="The name of the new run.")],
    heads: Annotated[
        float | None, typer.Option(callback=at_most(10**6), help="The share of all heads to remove, such as 0.5.")
    ] = None,
    weights: Annotated[
        float | None,
        typer.Option(help="Instead of heads: the share of single weights to set to zero, the smallest first."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="How the least important heads are found: gradient, ablation or attention.")
    ] = "gradient",
    then_train: Annotated[
        int, typer.Option(callback=at_most(10**9), help="Train the smaller model for this number of steps.")
    ] = 0,
    data: Annotated[
        Path | None, typer.Option(help="A file of examples for the importance; default: the held-out data of the run.")
    ] = None,
    examples: Annotated[
        int, typer.Option(min=1, callback=at_most(10**9), help="The number of examples for the importance.")
    ] = 128,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Write a run without its least important heads. Their weights are removed, not masked: the model is smaller and faster.

    Every attention keeps at least one head. The new run can be sampled, evaluated, trained and inspected like any other.
    """
    import glasshouse
    from glasshouse.cli.tables import console

    result, final = glasshouse.prune(run, name, heads, weights, by, then_train, data, examples, device)
    if as_json:
        facts = {"removed": result.removed, "parameters": result.parameters, "zeros": result.zeros}
        print(json.dumps({**facts, "forward_seconds": result.forward_seconds, "run": str(final.folder.path)}))
        return
    before, after = result.parameters
    if heads is not None:
        console.print(f"removed {len(result.removed)} of {result.heads} heads: {', '.join(result.removed)}", markup=False)
        ratio = result.forward_seconds[0] / result.forward_seconds[1]
        console.print(f"parameters {before:,} to {after:,}; a forward pass is {ratio:.2f} times as fast", markup=False)
    else:
        console.print(f"{result.zeros:,} of {before:,} parameters are zero", markup=False)
    console.print(f"evaluate it with: glasshouse evaluate {final.name}", markup=False, soft_wrap=True)
