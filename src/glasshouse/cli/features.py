"""`glasshouse features`: train linear classifiers on the frozen features of a run."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, LabelledData, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse features my-encoder --task presidents --limit 500 · "
    "glasshouse features demo-lm --task presidents --limit 500 --pooling last · "
    "glasshouse features my-encoder --task mine.tsv --pooling max --json"
)


def features(
    run: Run,
    task: LabelledData,
    pooling: Annotated[
        str, typer.Option(help="How the token vectors become one vector: mean, first, last or max.")
    ] = "mean",
    limit: Annotated[
        int,
        typer.Option(min=0, callback=at_most(10**9), help="The number of random rows to use of each split; 0 means all."),
    ] = 0,
    field: Annotated[str, typer.Option(help="The field of a .csv or .jsonl row that holds the text.")] = "text",
    label: Annotated[str, typer.Option(help="The field of a row that holds the class.")] = "label",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Train a logistic regression and a linear SVM on the frozen features of a run, and evaluate both.

    RUN is an encoder, a language model or a recurrent model. Each text becomes one standardised vector. A logistic
    regression over TF-IDF of the same rows shows what counts of words achieve. The regularisation strength is chosen by
    cross-validation on the training rows. The output shows accuracy, the accuracy of always predicting the most frequent
    class, and the recall of each class.
    """
    from glasshouse.api import experiments
    from glasshouse.cli.run_output import print_metrics
    from glasshouse.cli.tables import console, show

    result = experiments.features(run, task, pooling, limit, field, label, device)
    if as_json:
        print(json.dumps(asdict(result)))
        return
    counts = ", ".join(f"{count:,} {split}" for split, count in result.rows.items())
    console.print(f"{result.width} features per text; rows: {counts}")
    if result.cut:
        console.print(f"{result.cut:,} texts are longer than the context of the run and were truncated")
    measured = {
        f"{scores.classifier}, {split}": metrics for scores in result.verdicts for split, metrics in scores.metrics.items()
    }
    print_metrics(measured, result.metrics)
    strengths = ", ".join(f"{scores.strength:g} ({scores.classifier})" for scores in result.verdicts)
    console.print(f"inverse regularisation strength C, chosen by cross-validation: {strengths}")
    classes = dict.fromkeys(name for metrics in measured.values() for name in metrics if name.startswith("recall."))
    # A table for each split, so that its columns fit on a screen of 80 characters.
    for split in dict.fromkeys(split for scores in result.verdicts for split in scores.metrics):
        of_split = {scores.classifier: scores.metrics[split] for scores in result.verdicts if split in scores.metrics}
        rows = [
            (
                name.removeprefix("recall."),
                *(f"{metrics[name]:.1%}" if name in metrics else "" for metrics in of_split.values()),
            )
            for name in classes
        ]
        show((f"{split} recall of", *of_split), rows, right=range(1, len(of_split) + 1))
