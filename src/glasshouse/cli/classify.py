"""`glasshouse classify`: predict the class of a text, or its classes, its number, or the tags of its words."""

import json
from typing import Annotated, Any

import typer

from glasshouse.cli.arguments import Device, Run
from glasshouse.formatting import MISSING

EXAMPLES = (
    'Examples: glasshouse classify presidents "My fellow Americans, our economy is strong." · '
    'glasshouse classify presidents "First text" "Second text" --json · '
    'glasshouse classify pair-classifier "A man sleeps." --second "Nobody is awake."'
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
    named = [(_short(name), prediction) for name, prediction in zip(names, predictions, strict=True)]
    if "value" in predictions[0]:
        show(("text", "value"), [(name, f"{prediction['value']:.6g}") for name, prediction in named], right=(1,))
    elif "tags" in predictions[0]:
        show(
            ("word", "tag", "probability"), [row for prediction in predictions for row in _word_rows(prediction)], right=(2,)
        )
    elif "labels" in predictions[0]:
        show(("text", "classes", "most likely others"), [(name, *_label_cells(prediction)) for name, prediction in named])
    else:
        headings = ("text", "class", "probability", "next most likely")
        show(headings, [(name, *_class_cells(prediction)) for name, prediction in named], right=(2,))


def _content(prediction: dict[str, Any]) -> Any:
    """What is printed as JSON: of one class, its probabilities alone."""
    return prediction["probabilities"] if "label" in prediction else prediction


def _class_cells(prediction: dict[str, Any]) -> tuple[str, str, str]:
    (best, probability), *others = prediction["probabilities"].items()
    return best, f"{probability:.1%}", _shares(others[:2])


def _label_cells(prediction: dict[str, Any]) -> tuple[str, str]:
    shares = list(prediction["probabilities"].items())
    chosen = len(prediction["labels"])
    return _shares(shares[:chosen]) or "none", _shares(shares[chosen : chosen + 2])


def _word_rows(prediction: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A row for each word. A word beyond the context has no tag."""
    words = zip(prediction["words"], prediction["tags"], prediction["probabilities"], strict=True)
    return [(word, tag or MISSING, MISSING if share is None else f"{share:.1%}") for word, tag, share in words]


def _shares(pairs: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in pairs)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
