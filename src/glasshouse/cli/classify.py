"""`glasshouse classify`: which class a text belongs to."""

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
    texts: Annotated[list[str], typer.Argument(help="One text or several, each in quotes.")],
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which class each text belongs to, and how sure the model is."""
    import glasshouse
    from glasshouse.cli.tables import show

    found = glasshouse.classify(run, texts, device)
    if as_json:
        print(json.dumps(found))
        return
    rows = []
    for text, classes in zip(texts, found, strict=True):
        (first, sure), *others = classes.items()
        rest = ", ".join(f"{name} {share:.1%}" for name, share in others[:2])
        rows.append((text if len(text) <= 60 else text[:59] + "…", first, f"{sure:.1%}", rest))
    show(("text", "class", "probability", "then"), rows, right=(2,))
