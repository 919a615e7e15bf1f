"""`glasshouse heads`: how important each attention head is."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.cli.arguments import Device, Overwrite, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse heads demo-lm · glasshouse heads demo-lm --method gradient --examples 500 · "
    "glasshouse heads stories --data tales.txt --replacement mean --output heads.svg · "
    "glasshouse heads demo-lm --layers · glasshouse heads demo-lm --curve --then-train 200 --output curve.svg"
)


def heads(
    run: Run,
    method: Annotated[
        str, typer.Option(help="all, or one of: ablation (exact), gradient, attention (estimates that cost less).")
    ] = "all",
    data: Annotated[Path | None, typer.Option(help="A file of examples; default: the held-out data of the run.")] = None,
    examples: Annotated[
        int, typer.Option(min=1, callback=at_most(10**9), help="The number of examples to measure on.")
    ] = 128,
    replacement: Annotated[
        str, typer.Option(help="What an ablated head gives instead of its output: zero, mean or resampled.")
    ] = "zero",
    layers: Annotated[
        bool, typer.Option("--layers", help="Remove whole layers, their attention or their feed-forward part instead.")
    ] = False,
    curve: Annotated[
        bool, typer.Option("--curve", help="Remove more and more heads, and measure the loss on other examples.")
    ] = False,
    then_train: Annotated[
        int, typer.Option(min=0, callback=at_most(10**9), help="With --curve: further training steps after each removal.")
    ] = 0,
    output: Annotated[Path | None, typer.Option(help="A file for a figure, .svg or .png.")] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure the importance of every head: by ablation, which is exact, and by estimates from gradients and from weights.

    The rank correlation says how well an estimate predicts the damage of ablation.

    With --layers, whole layers, their attention and their feed-forward part are removed, one at a time.

    With --curve, heads are removed, the least important first, and the loss is measured: how many heads can be spared?
    """
    import glasshouse
    from glasshouse.api import inspection, runs
    from glasshouse.cli.tables import console, show
    from glasshouse.formatting import duration
    from glasshouse.specs.errors import GlasshouseError

    methods = None if method == "all" else (method,)
    if then_train and not curve:
        raise GlasshouseError("--then-train belongs to --curve; add --curve, or use glasshouse prune")
    if layers and (curve or method != "all"):
        raise GlasshouseError("--layers removes whole layers; leave out --curve and --method")
    if output is not None:
        runs.check_output(output, overwrite)
    if layers:
        damages = inspection.layers(run, data, examples, replacement, output, device)
        if as_json:
            print(json.dumps(asdict(damages)))
            return
        table = [(one.title, f"{one.damage:.5f}") for one in damages.layers]
        show(("without", "rise of the loss"), table, right=(1,))
        console.print(f"loss {damages.loss:.4f} on {damages.examples} examples", markup=False)
        if output:
            console.print(str(output), markup=False, soft_wrap=True)
        return
    if curve:
        curves = inspection.pruning_curves(run, methods, data, examples, then_train, output, device)
        _show_curves(curves, as_json, output)
        return
    result = glasshouse.heads(run, methods, data, examples, replacement, output, device)
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


def _show_curves(curves: Sequence[Any], as_json: bool, output: Path | None) -> None:
    from glasshouse.cli.tables import console, show

    trained = curves[0].points[0].trained_loss == curves[0].points[0].trained_loss
    if as_json:
        print(json.dumps([{**asdict(one), "removable": one.removable()} for one in curves]))
        return
    points = {one.order: {point.removed: point for point in one.points} for one in curves}
    removed = sorted({count for row in points.values() for count in row})

    def cell(order: str, count: int) -> str:
        point = points[order].get(count)
        if point is None:
            return ""
        return f"{point.loss:.4f}" + (f" -> {point.trained_loss:.4f}" if trained else "")

    rows = [(f"{count} of {curves[0].heads}", *(cell(order, count) for order in points)) for count in removed]
    show(("heads removed", *(f"by {order}" for order in points)), rows, right=range(1, 1 + len(points)))
    for one in curves:
        text = f"removable within 1 % of the loss, by {one.order}: {one.removable():.0%} of the heads"
        console.print(text + (f"; trained further {one.removable(trained=True):.0%}" if trained else ""), markup=False)
    if output:
        console.print(str(output), markup=False, soft_wrap=True)
