"""`glasshouse look`: attention maps of a text, or statistics of every head over a data set."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overwrite, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    'Examples: glasshouse look demo-lm --text "The state of the union is strong" · '
    'glasshouse look demo-lm --text "The state of the union" --layer 1 --head 2 --output map.svg · '
    'glasshouse look demo-lm --text "The state of the union" --explore · '
    "glasshouse look demo-lm --over data --output energy.svg · glasshouse look demo-lm --over speeches.txt --examples 200"
)


def look(
    run: Run,
    text: Annotated[str | None, typer.Option(help="The text to look at; a translator translates it.")] = None,
    layer: Annotated[int | None, typer.Option(callback=at_most(10_000), help="Only this layer, counted from 1.")] = None,
    head: Annotated[int | None, typer.Option(callback=at_most(10_000), help="Only this head, counted from 1.")] = None,
    attention: Annotated[str, typer.Option(help="Of an encoder-decoder: cross (the default), encoder or decoder.")] = "",
    explore: Annotated[
        bool, typer.Option("--explore", help="Write a page that follows each token through every step of the model.")
    ] = False,
    over: Annotated[
        str | None,
        typer.Option(metavar="data|FILE", help="Statistics of every head over the run's held-out data, or over a file."),
    ] = None,
    examples: Annotated[
        int, typer.Option(min=0, callback=at_most(10**6), help="With --over: the number of examples to read; 0 means all.")
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            help="The file to write: .html for a page, .svg or .png for a figure; default: attention.html in the run."
        ),
    ] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Draw the attention weights of every layer and head, exactly as the model computes them.

    With --explore, write explorer.html instead: one token's way from text to prediction, with every number.

    With --over, print statistics of every head instead: mean distance, entropy, the shares of attention to the token itself,
    the previous, the first and special tokens, and the kind of head that it is most like. With --output, draw the energy in
    the first singular values of the maps.
    """
    import glasshouse
    from glasshouse.api import inspection, runs
    from glasshouse.cli.tables import console, show
    from glasshouse.specs.errors import GlasshouseError

    if text is None and over is None:
        raise GlasshouseError("look needs --text TEXT or --over data; give one of the two, or both")
    if explore and text is None:
        raise GlasshouseError("--explore follows one text; give it with --text TEXT")
    if output is not None:
        runs.check_output(output, overwrite)
    if text is not None and explore:
        console.print(str(inspection.explore(run, text, output, device)), markup=False, soft_wrap=True)
        return
    if text is not None:
        maps, path = glasshouse.look(run, text, layer, head, attention, output, device)
        if as_json and over is None:
            print(json.dumps({"tokens": maps.tokens, "sources": maps.sources, "weights": maps.weights.tolist()}))
            return
        if not as_json:
            layers, heads, queries, keys = maps.weights.shape
            sizes = f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)}"
            console.print(f"{sizes}, {queries} by {keys} tokens", markup=False)
            console.print(str(path), markup=False, soft_wrap=True)
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
        "rank, singular values with 90 % of the energy. --json gives more.",
        markup=False,
    )
    if spectra:
        console.print(str(spectra), markup=False, soft_wrap=True)
