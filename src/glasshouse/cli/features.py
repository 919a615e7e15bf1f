"""`glasshouse features`: what simple classifiers can tell from a run's frozen features."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, LabelledData, Run

EXAMPLES = (
    "Examples: glasshouse features my-encoder --task presidents --limit 500 · "
    "glasshouse features my-encoder --task mine.tsv --pooling max --json"
)


def features(
    run: Run,
    task: LabelledData,
    pooling: Annotated[str, typer.Option(help="How tokens become one vector: mean, first, last or max.")] = "mean",
    limit: Annotated[int, typer.Option(min=0, help="Use so many rows of each split, at random; 0 means all.")] = 0,
    field: Annotated[str, typer.Option(help="The field of a .csv or .jsonl row that holds the text.")] = "text",
    label: Annotated[str, typer.Option(help="The field that holds its class.")] = "label",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What a logistic regression and a linear SVM can tell from the features of a run that is not trained further.

    A vector for each text, standardised; the strength of regularisation is chosen by cross-validation on the training rows.
    Accuracy stands beside that of always giving the commonest class, and the recall of each class follows.
    """
    import glasshouse
    from glasshouse.cli.outcome import print_metrics
    from glasshouse.cli.tables import console, show

    found = glasshouse.features(run, task, pooling, limit, field, label, device)
    if as_json:
        print(json.dumps(asdict(found)))
        return
    counts = ", ".join(f"{count:,} {split}" for split, count in found.rows.items())
    console.print(f"{found.width} features of each text; rows: {counts}")
    if found.cut:
        console.print(f"{found.cut:,} texts are longer than the run's context and were cut")
    measured = {
        f"{verdict.classifier}, {split}": metrics for verdict in found.verdicts for split, metrics in verdict.metrics.items()
    }
    print_metrics(measured, found.metrics)
    strengths = ", ".join(f"{verdict.strength:g} ({verdict.classifier})" for verdict in found.verdicts)
    console.print(f"C, chosen by cross-validation on the training rows: {strengths}")
    classes = dict.fromkeys(name for metrics in measured.values() for name in metrics if name.startswith("recall."))
    rows = [
        (name.removeprefix("recall."), *(f"{metrics[name]:.1%}" if name in metrics else "" for metrics in measured.values()))
        for name in classes
    ]
    show(("recall of", *measured), rows, right=range(1, len(measured) + 1))
