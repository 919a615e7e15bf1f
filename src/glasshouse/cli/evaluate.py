"""`glasshouse evaluate`: how well a run predicts text."""

import json
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = "Examples: glasshouse evaluate demo-lm · glasshouse evaluate demo-lm --data other.txt --json"


def evaluate(
    run: Run,
    data: Annotated[
        str | None, typer.Option(help="A file, plain, .gz or JSON lines; by default the run's own held-out text.")
    ] = None,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """How well a run does on text that it did not learn from.

    A classifier: accuracy beside that of always giving the commonest class, macro F1 and loss. A language model: loss,
    perplexity and bits per byte over a whole text; windows of the run's context advance by half of it (evaluation.stride),
    and each scores what is new in it, so every token is predicted once. Marks between documents are given and not scored.
    """
    from glasshouse import workbench
    from glasshouse.cli.outcome import print_metrics

    metrics = workbench.evaluate(run, data, device)
    if as_json:
        print(json.dumps(metrics))
    else:
        print_metrics(metrics)
