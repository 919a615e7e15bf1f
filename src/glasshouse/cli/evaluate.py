"""`glasshouse evaluate`: how well a run predicts text."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.cli.arguments import Device, Run

if TYPE_CHECKING:
    from glasshouse.metrics.metric import Metrics

EXAMPLES = (
    "Examples: glasshouse evaluate demo-lm · glasshouse evaluate demo-lm --data other.txt --json · "
    "glasshouse evaluate scene-translator --metric entailment --judge scene-entailment"
)
STATISTICS = ("pearson", "spearman", "area")
SCORES = ("entailment", "entailment_both", "bleu", "chrf")


def evaluate(
    run: Run,
    data: Annotated[
        str | None, typer.Option(help="A file, plain, .gz or JSON lines; by default the run's own held-out text.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="entailment: what a judge infers of translations.")] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="A run that tells entailment, neutral and contradiction apart."),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="Most texts of a split that a judge is asked about.")] = 500,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """How well a run does on text that it did not learn from.

    A classifier: accuracy beside that of always giving the commonest class, macro F1 and loss. A language model: loss,
    perplexity and bits per byte over a whole text; windows of the run's context advance by half of it (evaluation.stride),
    and each scores what is new in it, so every token is predicted once. Marks between documents are given and not scored.

    With --metric entailment, a translator: beside BLEU and chrF, the share of outputs that a judge finds to follow from
    their references, and that with the reference following from the output too. For runs on scenes, whose meanings are
    known, it is also measured which metric follows meaning: correlations of scores with adequacy (the share of facts that a
    text keeps) over outputs of varied quality, and the area: how often a text that keeps all scores above one that does not.
    Since a good translator hardly errs, these are the run's own (the best of a
    beam search, and samples at temperatures that make it err), references with 0 to 3 facts swapped, and the same said in
    other words. Intervals (95 %) are over sources.
    """
    import glasshouse
    from glasshouse.cli.outcome import print_metrics

    metrics = glasshouse.evaluate(run, data, device, metric, judge, examples)
    if as_json:
        print(json.dumps(metrics))
        return
    declared = glasshouse.metrics_of(run, metric)
    print_metrics(metrics, declared)
    print_agreement(metrics, declared)


def print_agreement(metrics: dict[str, dict[str, float]], declared: "Metrics") -> None:
    """How scores of single outputs go with their known adequacy, where that was measured: a row for each kind of output."""
    from glasshouse.cli.tables import console, show

    rows = []
    for split, values in metrics.items():
        kinds = [key.removeprefix("outputs.") for key in values if key.startswith("outputs.")]
        for statistic in STATISTICS if kinds else ():
            for kind in kinds:
                found = [_cell(values, f"{statistic}.{score}.{kind}") for score in SCORES]
                count, right = values[f"outputs.{kind}"], values[f"judge.{kind}"]
                rows.append((split, statistic.capitalize(), kind, *found, f"{count:,.0f}", f"{right:.1%}"))
    if rows:
        console.print("How the scores of single outputs follow their known adequacy:")
        columns = ("text", "statistic", "outputs", *(declared[score].title for score in SCORES), "number", "judge is right")
        show(columns, rows, right=range(3, len(columns)))


def _cell(values: dict[str, float], key: str) -> str:
    if key not in values:
        return "none: all alike"
    return f"{values[key]:.2f} ({values[f'{key}.low']:.2f} to {values[f'{key}.high']:.2f})"
