"""Draw attention maps, measure the importance of heads, and prune them."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import glasshouse
from glasshouse.cli.options import AsJson, Data, Device, Examples, Figure, Run, option, writes_output
from glasshouse.cli.tables import console, show
from glasshouse.formatting import duration
from glasshouse.specs.errors import GlasshouseError


@writes_output
def look(
    run: Run,
    text: Annotated[str | None, option("The text to look at; a translator translates it.")] = None,
    layer: Annotated[int | None, option("Only this layer, counted from 1.", high=10000)] = None,
    head: Annotated[int | None, option("Only this head, counted from 1.", high=10000)] = None,
    attention: Annotated[str, option("Of an encoder-decoder: cross (the default), encoder or decoder.")] = "",
    explore: Annotated[
        bool, option("Write a page that follows each token through every step of the model.", "--explore")
    ] = False,
    over: Annotated[
        str | None, option("Statistics of every head over the run's held-out data, or over a file.", metavar="data|FILE")
    ] = None,
    examples: Annotated[int, option("With --over: the number of examples to read; 0 means all.", low=0, high=10**6)] = 0,
    output: Annotated[
        Path | None,
        option("The file to write: .html for a page, .svg or .png for a figure; default: attention.html in the run."),
    ] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Draw the attention weights of every layer and head, exactly as the model computes them.

    With --explore, write explorer.html instead: one token's way from text to prediction, with every number.

    With --over, print statistics of every head instead: mean distance, entropy, the shares of attention to the token itself,
    the previous, the first and special tokens, and the kind of head that it is most like. With --output, draw the energy in
    the first singular values of the maps.

    Examples:
        glasshouse look demo-lm --text "The state of the union is strong"
        glasshouse look demo-lm --text "The state of the union" --layer 1 --head 2 --output map.svg
        glasshouse look demo-lm --text "The state of the union" --explore
        glasshouse look demo-lm --over data --output energy.svg
        glasshouse look demo-lm --over speeches.txt --examples 200
    """
    from glasshouse.api import inspection

    if text is None and over is None:
        raise GlasshouseError("look needs --text TEXT or --over data; give one of the two, or both")
    if explore and text is None:
        raise GlasshouseError("--explore follows one text; give it with --text TEXT")
    if text is not None and explore:
        page = inspection.explore(run, text, output, device)
        if output is None:
            console.print(f"wrote {page}")
        return
    if text is not None:
        maps, path = glasshouse.look(run, text, layer, head, attention, output, device)
        if as_json and over is None:
            print(json.dumps({"tokens": maps.tokens, "sources": maps.sources, "weights": maps.weights.tolist()}))
            return
        if not as_json:
            layers, heads, queries, keys = maps.weights.shape
            sizes = f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)}"
            console.print(f"{sizes}, {queries} by {keys} tokens")
            if output is None:
                console.print(f"wrote {path}")
    if over is None:
        return
    spectra = output if text is None else None
    rows = inspection.head_statistics(run, None if over == "data" else over, examples, spectra, device)
    if as_json:
        print(json.dumps([{**asdict(row), "kind": row.kind} for row in rows]))
        return

    def share(value: float) -> str:
        return "" if math.isnan(value) else f"{value:.2f}"

    show(
        ("head", "kind", "dist.", "entr.", "self", "prev.", "first", "ind.", "rank"),
        [
            (
                row.short_title,
                row.kind,
                f"{row.distance:.1f}",
                f"{row.entropy:.2f}",
                *map(share, (row.itself, row.previous, row.first, row.induction)),
                f"{row.rank:.1f}",
            )
            for row in rows
        ],
        right=range(2, 9),
    )
    console.print(
        "head: layer.head. Means over queries and texts: dist., tokens between query and key; entr., entropy in nats; self, "
        "prev. and first, shares of the attention; ind., attention from a repeated token to the one that followed it; "
        "rank, singular values with 90 % of the energy. --json gives more."
    )


@writes_output
def heads(
    run: Run,
    method: Annotated[
        str, option("all, or one of: ablation (exact), gradient, attention (estimates that cost less).")
    ] = "all",
    data: Data = None,
    examples: Examples = 128,
    replacement: Annotated[
        str, option("What an ablated head gives instead of its output: zero, mean or resampled.")
    ] = "zero",
    layers: Annotated[
        bool, option("Remove whole layers, their attention or their feed-forward part instead.", "--layers")
    ] = False,
    curve: Annotated[bool, option("Remove more and more heads, and measure the loss on other examples.", "--curve")] = False,
    then_train: Annotated[int, option("With --curve: further training steps after each removal.", low=0, high=10**9)] = 0,
    output: Figure = None,
    device: Device = "auto",
) -> Iterator[object]:
    """Measure the importance of every head: by ablation, which is exact, and by estimates from gradients and from weights.

    The rank correlation says how well an estimate predicts the damage of ablation.

    With --layers, whole layers, their attention and their feed-forward part are removed, one at a time.

    With --curve, heads are removed, the least important first, and the loss is measured: how many heads can be spared?

    Examples:
        glasshouse heads demo-lm
        glasshouse heads demo-lm --method gradient --examples 500
        glasshouse heads stories --data tales.txt --replacement mean --output heads.svg
        glasshouse heads demo-lm --layers
        glasshouse heads demo-lm --curve --then-train 200 --output curve.svg
    """
    from glasshouse.api import inspection

    methods = None if method == "all" else (method,)
    if then_train and not curve:
        raise GlasshouseError("--then-train belongs to --curve; add --curve, or use glasshouse prune")
    if layers and (curve or method != "all"):
        raise GlasshouseError("--layers removes whole layers; leave out --curve and --method")
    if layers:
        damages = inspection.layers(run, data, examples, replacement, output, device)
        yield damages
        table = [(one.title, f"{one.damage:.5f}") for one in damages.layers]
        show(("without", "rise of the loss"), table, right=(1,))
        console.print(f"loss {damages.loss:.4f} on {damages.examples} examples")
        return
    if curve:
        curves = inspection.pruning_curves(run, methods, data, examples, then_train, output, device)
        yield [{**asdict(one), "removable": one.removable()} for one in curves]
        _show_curves(curves)
        return
    result = glasshouse.heads(run, methods, data, examples, replacement, output, device)
    correlations = result.correlations()
    estimates = [{"method": name, **asdict(one)} for name, one in correlations.items()]
    yield {**asdict(result), "correlations": estimates}
    first = next(iter(result.scores))
    titles = {"ablation": "rise of the loss without it", "gradient": "by gradient", "attention": "by attention"}
    rows = [
        (result.heads[index].title, *(f"{scores[index]:.5f}" for scores in result.scores.values()))
        for index in reversed(result.order(first))
    ]
    show(("head", *(titles[name] for name in result.scores)), rows, right=range(1, 1 + len(result.scores)))
    costs = ", ".join(f"{name} {duration(seconds)}" for name, seconds in result.seconds.items())
    console.print(f"loss {result.loss:.4f} on {result.examples} examples; time: {costs}")
    for name, one in correlations.items():
        console.print(
            f"rank correlation of {name} with the damage: {one.value:.2f} (95 % interval {one.low:.2f} to {one.high:.2f})"
        )


def _show_curves(curves: Sequence[Any]) -> None:
    trained = curves[0].points[0].trained_loss == curves[0].points[0].trained_loss
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
        console.print(text + (f"; trained further {one.removable(trained=True):.0%}" if trained else ""))


def prune(
    run: Run,
    name: Annotated[str, option("The name of the new run.")],
    heads: Annotated[float | None, option("The share of all heads to remove, such as 0.5.", high=10**6)] = None,
    weights: Annotated[
        float | None, option("Instead of heads: the share of single weights to set to zero, the smallest first.")
    ] = None,
    by: Annotated[str, option("How the least important heads are found: gradient, ablation or attention.")] = "gradient",
    then_train: Annotated[int, option("Train the smaller model for this number of steps.", high=10**9)] = 0,
    data: Data = None,
    examples: Examples = 128,
    device: Device = "auto",
) -> Iterator[object]:
    """Write a run without its least important heads. Their weights are removed, not masked: the model is smaller and faster.

    Every attention keeps at least one head. The new run can be sampled, evaluated, trained and inspected like any other.

    Examples:
        glasshouse prune demo-lm --heads 0.5 --name smaller
        glasshouse prune demo-lm --heads 0.5 --by ablation --then-train 200 --name smaller
        glasshouse prune demo-lm --weights 0.3 --name sparse
    """
    result, final = glasshouse.prune(run, name, heads, weights, by, then_train, data, examples, device)
    facts = {"removed": result.removed, "parameters": result.parameters, "zeros": result.zeros}
    yield {**facts, "forward_seconds": result.forward_seconds, "run": str(final.folder.path)}
    before, after = result.parameters
    if heads is not None:
        console.print(f"removed {len(result.removed)} of {result.heads} heads: {', '.join(result.removed)}")
        ratio = result.forward_seconds[0] / result.forward_seconds[1]
        console.print(f"parameters {before:,} to {after:,}; a forward pass is {ratio:.2f} times as fast")
    else:
        console.print(f"{result.zeros:,} of {before:,} parameters are zero")
    console.print(f"evaluate it with: glasshouse evaluate {final.name}")
