"""`glasshouse few-shot`: how well a language model classifies from examples in its context."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, LabelledData, Run

EXAMPLES = (
    "Examples: glasshouse few-shot demo-lm --task presidents --shots 0,1,2 --examples 100 · "
    "glasshouse few-shot demo-lm --task mine.tsv --calibrate --output shots.svg"
)


def few_shot(
    run: Run,
    task: LabelledData,
    shots: Annotated[str, typer.Option(help="Numbers of examples in the context, separated by commas.")] = "0,1,2,4,8",
    examples: Annotated[int, typer.Option(min=1, help="Held-out texts to classify, at random.")] = 200,
    draws: Annotated[int, typer.Option(min=1, help="Draws of examples to show; the interval is over these.")] = 3,
    template: Annotated[
        str | None, typer.Option(help=r"How an example is written; by default Text: {text}\nLabel: {label}\n\n")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Divide a label's probability by what it has with an empty text.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Draw accuracy against shots to this file, .svg or .png.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides which texts are asked about and which examples are shown.")] = 0,
    field: Annotated[str, typer.Option(help="The field of a .csv or .jsonl row that holds the text.")] = "text",
    label: Annotated[str, typer.Option(help="The field that holds its class.")] = "label",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Classify texts with a run that continues text, by examples in its context and no training.

    Each label is scored as what follows the text, by the sum of the log-probabilities of its tokens; the likeliest is the
    answer. Examples that do not fit into the run's context are left out, the earliest first, and the prompts that lost some
    are counted.
    """
    import glasshouse
    from glasshouse.cli.tables import console, show
    from glasshouse.specs.errors import GlasshouseError

    try:
        counts = tuple(dict.fromkeys(int(part) for part in shots.split(",")))
    except ValueError:
        raise GlasshouseError(
            "bad-shots", f"--shots {shots} is not a list of whole numbers; write for example --shots 0,1,2,4"
        ) from None
    # A shell gives \n as two characters.
    written = template.replace("\\n", "\n").replace("\\t", "\t") if template else None
    how = (counts, examples, draws, written, calibrate, output, seed, field, label, device)
    found = glasshouse.few_shot(run, task, *how)
    if as_json:
        print(json.dumps(asdict(found)))
        return
    console.print(
        f"{found.texts:,} {found.split} texts, {len(found.labels)} classes; always the commonest: {found.majority:.1%}"
    )
    rows = [
        (
            str(each.shots),
            f"{each.mean:.1%}",
            f"{each.low:.1%} to {each.high:.1%}" if len(each.accuracies) > 1 else "one draw",
            f"{each.shown:.1f}",
            f"{each.cut:,} of {each.prompts:,}",
        )
        for each in found.by_shots
    ]
    show(("shots", "accuracy", "95 % interval over draws", "examples that fitted", "prompts cut"), rows, right=(0, 1, 3, 4))
    if output:
        console.print(f"wrote {output}", markup=False, soft_wrap=True)
