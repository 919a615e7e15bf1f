"""`glasshouse attribute`: what a prediction drew on."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overwrite, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    'Examples: glasshouse attribute demo-lm --text "The state of the union is" · '
    'glasshouse attribute presidents --text "We will fight" --method gradient-x-input --output scores.svg · '
    'glasshouse attribute demo-lm --text "The state of the" --target " union" --method direct'
)
# Characters of the longest bar.
BAR = 24


def attribute(
    run: Run,
    text: Annotated[str, typer.Option(help="The text to look at.")],
    method: Annotated[
        str, typer.Option(help="integrated-gradients, gradient-x-input, or direct (heads and layers instead of tokens).")
    ] = "integrated-gradients",
    position: Annotated[
        int | None,
        typer.Option(
            callback=at_most(10**7), help="The token at which the prediction is made, counted from 1; default: the last one."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The token, class or picture number to explain; default: the predicted one.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="A file for a figure, .svg or .png.")] = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score each token by what it adds to the logit of a prediction, or each head and layer with --method direct.

    The scores of integrated gradients sum to the logit minus that of a text of mask or end-of-text tokens. The parts of the
    direct method sum to the logit.
    """
    import glasshouse
    from glasshouse.api import runs
    from glasshouse.cli.tables import console, show
    from glasshouse.formatting import visible

    if output is not None:
        runs.check_output(output, overwrite)
    result = glasshouse.attribute(run, text, method, position, target, output, device)
    if as_json:
        print(json.dumps(asdict(result)))
        return
    prediction = result.prediction
    console.print(
        f"prediction: {visible(prediction.name)} (probability {prediction.probability:.4f}, logit {prediction.logit:.4f})",
        markup=False,
    )
    pairs = result.rows()
    largest = max(max(abs(value) for _, value in pairs), 1e-12)
    bars = [("█" if value >= 0 else "░") * round(BAR * abs(value) / largest) for _, value in pairs]
    rows = [(name, f"{value:+.4f}", bar) for (name, value), bar in zip(pairs, bars, strict=True)]
    show(("part" if method == "direct" else "token", "score", ""), rows, right=(1,))
    console.print(result.summary(), markup=False)
    if output:
        console.print(str(output), markup=False, soft_wrap=True)
