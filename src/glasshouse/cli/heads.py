"""`glasshouse heads`: how important each attention head is."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = (
    "Examples: glasshouse heads demo-lm · glasshouse heads demo-lm --method gradient --examples 500 · "
    "glasshouse heads stories --data tales.txt --replacement mean --output heads.svg"
)


def heads(
    run: Run,
    method: Annotated[
        str, typer.Option(help="all, or one of: ablation (exact), gradient, attention (estimates that cost less).")
    ] = "all",
    data: Annotated[Path | None, typer.Option(help="A file of examples; default: the held-out data of the run.")] = None,
    examples: Annotated[int, typer.Option(min=1, help="The number of examples to measure on.")] = 128,
    replacement: Annotated[
        str, typer.Option(help="What an ablated head gives instead of its output: zero, mean or resampled.")
    ] = "zero",
    output: Annotated[Path | None, typer.Option(help="A file for a figure, .svg or .png.")] = None,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure the importance of every head: by ablation, which is exact, and by estimates from gradients and from weights.

    The rank correlation says how well an estimate predicts the damage of ablation.
    """
    import glasshouse
    from glasshouse.cli.tables import console, show
    from glasshouse.formatting import duration

    result = glasshouse.heads(run, None if method == "all" else (method,), data, examples, replacement, output, device)
    correlations = result.correlations()
    if as_json:
        print(json.dumps({**asdict(result), "correlations": [asdict(one) for one in correlations]}))
        return
    first = next(iter(result.scores))
    titles = {"ablation": "rise of the loss without it", "gradient": "by gradient", "attention": "by attention"}
    rows = [
        (result.heads[index].title, *(f"{scores[index]:.5f}" for scores in result.scores.values()))
        for index in reversed(result.order(first))
    ]
    show(("head", *(titles[name] for name in result.scores)), rows, right=range(1, 1 + len(result.scores)))
    costs = ", ".join(f"{name} {duration(seconds)}" for name, seconds in result.seconds.items())
    console.print(f"loss {result.loss:.4f} on {result.examples} examples; time: {costs}", markup=False)
    for one in correlations:
        console.print(
            f"rank correlation of {one.method} with the damage: {one.value:.2f} "
            f"(95 % interval {one.low:.2f} to {one.high:.2f})",
            markup=False,
        )
    if output:
        console.print(str(output), markup=False, soft_wrap=True)
