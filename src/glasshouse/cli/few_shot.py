"""`glasshouse few-shot`: classify texts with a language model and examples in its context."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, LabelledData, Overwrite, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse few-shot demo-lm --task presidents --shots 0,1,2 --examples 100 · "
    "glasshouse few-shot demo-lm --task mine.tsv --calibrate --output shots.svg"
)


def few_shot(
    run: Run,
    task: LabelledData,
    shots: Annotated[str, typer.Option(help="The numbers of examples in the context, separated by commas.")] = "0,1,2,4,8",
    examples: Annotated[
        int, typer.Option(min=1, callback=at_most(10**6), help="The number of random held-out texts to classify.")
    ] = 200,
    draws: Annotated[
        int,
        typer.Option(
            min=1, callback=at_most(10_000), help="How often examples are drawn; the interval is over these draws."
        ),
    ] = 3,
    template: Annotated[
        str | None, typer.Option(help=r"The template of an example; default: Text: {text}\nLabel: {label}\n\n")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Divide the probability of a label by its probability after an empty text.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="A file for a figure of accuracy over shots, .svg or .png.")] = None,
    overwrite: Overwrite = False,
    seed: Annotated[
        int, typer.Option(min=0, callback=at_most(2**31 - 1), help="The random seed of the choice of texts and examples.")
    ] = 0,
    field: Annotated[str, typer.Option(help="The field of a .csv or .jsonl row that holds the text.")] = "text",
    label: Annotated[str, typer.Option(help="The field of a row that holds the class.")] = "label",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Classify texts with a language model, from examples in its context and without training.

    The score of a label is the sum of the log-probabilities of its tokens after the text; the label with the highest score
    is the prediction. If the examples do not fit into the context, the earliest are left out. The table counts the prompts
    that this affects.
    """
    from glasshouse.api import experiments, runs
    from glasshouse.cli.tables import console, show
    from glasshouse.specs.errors import GlasshouseError

    try:
        counts = tuple(dict.fromkeys(int(part) for part in shots.split(",")))
    except ValueError:
        raise GlasshouseError("is not a list of whole numbers; use for example --shots 0,1,2,4", "shots", shots) from None
    # In a shell, \n is two characters: a backslash and an n.
    unescaped = template.replace("\\n", "\n").replace("\\t", "\t") if template else None
    if output is not None:
        runs.check_output(output, overwrite)
    options = (counts, examples, draws, unescaped, calibrate, output, seed, field, label, device)
    result = experiments.few_shot(run, task, *options)
    if as_json:
        print(json.dumps(asdict(result)))
        return
    console.print(
        f"{result.texts:,} {result.split} texts, {len(result.labels)} classes; "
        f"accuracy of always predicting the most frequent class: {result.majority:.1%}"
    )
    rows = [
        (
            str(accuracy.shots),
            f"{accuracy.mean:.1%}",
            f"{accuracy.low:.1%} to {accuracy.high:.1%}" if len(accuracy.accuracies) > 1 else "one draw",
            f"{accuracy.shown:.1f}",
            f"{accuracy.cut:,} of {accuracy.prompts:,}",
        )
        for accuracy in result.by_shots
    ]
    show(
        ("shots", "accuracy", "95 % interval over draws", "examples in the context", "truncated prompts"),
        rows,
        right=(0, 1, 3, 4),
    )
    if output:
        console.print(f"wrote {output}", markup=False, soft_wrap=True)
