"""`glasshouse evaluate`: measure a run on held-out data."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.cli.arguments import Device, Run
from glasshouse.cli.options import at_most

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
        str | None, typer.Option(help="A file to evaluate on: plain, .gz or JSON lines; default: the run's held-out splits.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Evaluate a translator by entailment, with --judge.")] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="A classifier with the classes entailment, neutral and contradiction."),
    ] = None,
    examples: Annotated[
        int, typer.Option(min=1, callback=at_most(10**9), help="The largest number of texts per split to judge.")
    ] = 500,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Evaluate a run on text that it was not trained on. A file that has texts of the training data is warned of.

    For a classifier, print accuracy, the accuracy of always predicting the most frequent class, macro F1 and loss. For a
    language model, print loss, perplexity and bits per byte. A window of the run's context slides over the text by
    evaluation.stride tokens and scores only its new tokens, so every token is predicted once. Separator tokens between
    documents are in the context but are not scored.

    With --metric entailment, evaluate a translator: print BLEU, chrF, the share of outputs that the judge infers from their
    references, and the share for which the judge also infers the reference from the output. For runs on scenes, whose
    meaning is known, also measure how well each metric agrees with adequacy, the share of facts that an output keeps: the
    correlation of the scores with adequacy, and the area under the ROC curve, the probability that an adequate output scores
    higher than an inadequate one. A good translator makes few errors, so the outputs include its best translations, samples
    at high temperatures, references with up to three swapped facts, and paraphrases. The 95 % intervals are over sources.
    """
    import glasshouse
    from glasshouse.api import runs
    from glasshouse.cli.run_output import print_metrics

    metrics = glasshouse.evaluate(run, data, device, metric, judge, examples)
    if as_json:
        print(json.dumps(metrics))
        return
    declared = runs.metrics_of(run, metric)
    print_metrics(metrics, declared)
    print_agreement(metrics, declared)


def print_agreement(metrics: dict[str, dict[str, float]], declared: "Metrics") -> None:
    """Print how well the scores of single outputs agree with their adequacy, with a row for each kind of output."""
    from glasshouse.cli.tables import console, show

    rows = []
    for split, values in metrics.items():
        kinds = [key.removeprefix("outputs.") for key in values if key.startswith("outputs.")]
        for statistic in STATISTICS if kinds else ():
            for kind in kinds:
                cells = [_cell(values, f"{statistic}.{score}.{kind}") for score in SCORES]
                count, judge_accuracy = values[f"outputs.{kind}"], values[f"judge.{kind}"]
                rows.append((split, statistic.capitalize(), kind, *cells, f"{count:,.0f}", f"{judge_accuracy:.1%}"))
    if rows:
        console.print("Agreement of the scores of single outputs with their adequacy:")
        titles = [declared[score].title for score in SCORES]
        columns = ("data", "statistic", "outputs", *titles, "number", "judge accuracy")
        show(columns, rows, right=range(3, len(columns)))


def _cell(values: dict[str, float], key: str) -> str:
    if key not in values:
        return "none: all equal"
    return f"{values[key]:.2f} ({values[f'{key}.low']:.2f} to {values[f'{key}.high']:.2f})"
