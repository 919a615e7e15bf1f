"""`glasshouse classify`: predict the class of a text, or its classes, its number, or the tags of its words."""

import json
from typing import Annotated, Any

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = (
    'Examples: glasshouse classify presidents "My fellow Americans, our economy is strong." · '
    'glasshouse classify presidents "First text" "Second text" --json · '
    'glasshouse classify pairs "A man sleeps." --second "Nobody is awake."'
)


def classify(
    run: Run,
    texts: Annotated[list[str], typer.Argument(help="One or more texts, each in quotes.")],
    second: Annotated[
        list[str] | None, typer.Option(help="The second text of a pair; once for each text, in the same order.")
    ] = None,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Predict the class of each text, with its probability.

    A run of the task regress predicts a number, one of multi-label every class that applies, one of tag a tag for each word.
    """
    import glasshouse
    from glasshouse.cli.tables import show

    predictions = glasshouse.predict(run, texts, device, second or None)
    if as_json:
        print(json.dumps([_content(prediction) for prediction in predictions]))
        return
    names = [f"{text} | {other}" for text, other in zip(texts, second, strict=True)] if second else texts
    if "value" in predictions[0]:
        show(("text", "value"), [(_short(name), f"{p['value']:.6g}") for name, p in zip(names, predictions, strict=True)])
        return
    rows = []
    for name, prediction in zip(names, predictions, strict=True):
        (best, probability), *others = prediction["probabilities"].items()
        next_best = ", ".join(f"{other} {share:.1%}" for other, share in others[:2])
        rows.append((_short(name), best, f"{probability:.1%}", next_best))
    show(("text", "class", "probability", "next most likely"), rows, right=(2,))


def _content(prediction: dict[str, Any]) -> Any:
    """What is printed as JSON: of one class, its probabilities alone."""
    return prediction["probabilities"] if "label" in prediction else prediction


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
