"""`glasshouse classify`: predict the class of a text."""

import json
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = (
    'Examples: glasshouse classify presidents "My fellow Americans, our economy is strong." · '
    'glasshouse classify presidents "First text" "Second text" --json'
)


def classify(
    run: Run,
    texts: Annotated[list[str], typer.Argument(help="One or more texts, each in quotes.")],
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Predict the class of each text, with its probability."""
    import glasshouse
    from glasshouse.cli.tables import show

    predictions = glasshouse.classify(run, texts, device)
    if as_json:
        print(json.dumps(predictions))
        return
    rows = []
    for text, classes in zip(texts, predictions, strict=True):
        (best, probability), *others = classes.items()
        next_best = ", ".join(f"{name} {share:.1%}" for name, share in others[:2])
        rows.append((text if len(text) <= 60 else text[:59] + "…", best, f"{probability:.1%}", next_best))
    show(("text", "class", "probability", "next most likely"), rows, right=(2,))
