"""Measure a run on data: its own, labelled texts, examples in the context; and enlarge labelled data with paraphrases."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import glasshouse
from glasshouse.cli.options import Device, Field, Label, LabelledData, Run, argument, option, writes_output
from glasshouse.cli.tables import console, show
from glasshouse.specs.errors import GlasshouseError

if TYPE_CHECKING:
    from glasshouse.metrics.metric import Metrics

STATISTICS = ("pearson", "spearman", "area")
SCORES = ("entailment", "entailment_both", "bleu", "chrf")


def evaluate(
    run: Run,
    data: Annotated[
        str | None, option("A file to evaluate on: plain, .gz or JSON lines; default: the run's held-out splits.")
    ] = None,
    metric: Annotated[str | None, option("Evaluate a translator by entailment, with --judge.")] = None,
    judge: Annotated[
        str | None, option("A classifier with the classes entailment, neutral and contradiction.", metavar="RUN")
    ] = None,
    examples: Annotated[int, option("The largest number of texts per split to judge.", low=1, high=10**9)] = 500,
    device: Device = "auto",
) -> Iterator[object]:
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

    Examples:
        glasshouse evaluate demo-lm
        glasshouse evaluate demo-lm --data other.txt --json
        glasshouse evaluate scene-translator --metric entailment --judge scene-entailment
    """
    from glasshouse.api import runs
    from glasshouse.cli.run_output import print_metrics

    metrics = glasshouse.evaluate(run, data, device, metric, judge, examples)
    yield metrics
    declared = runs.metrics_of(run, metric)
    print_metrics(metrics, declared)
    print_agreement(metrics, declared)


def print_agreement(metrics: dict[str, dict[str, float]], declared: "Metrics") -> None:
    """Print how well the scores of single outputs agree with their adequacy, with a row for each kind of output."""
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


def features(
    run: Run,
    task: LabelledData,
    pooling: Annotated[str, option("How the token vectors become one vector: mean, first, last or max.")] = "mean",
    limit: Annotated[int, option("The number of random rows to use of each split; 0 means all.", low=0, high=10**9)] = 0,
    field: Field = "text",
    label: Label = "label",
    device: Device = "auto",
) -> Iterator[object]:
    """Train a logistic regression and a linear SVM on the frozen features of a run, and evaluate both.

    RUN is an encoder, a language model or a recurrent model. Each text becomes one standardised vector. A logistic
    regression over TF-IDF of the same rows shows what counts of words achieve. The regularisation strength is chosen by
    cross-validation on the training rows. The output shows accuracy, the accuracy of always predicting the most frequent
    class, and the recall of each class.

    Examples:
        glasshouse features my-encoder --task presidents --limit 500
        glasshouse features demo-lm --task presidents --limit 500 --pooling last
        glasshouse features my-encoder --task mine.tsv --pooling max --json
    """
    from glasshouse.api import experiments
    from glasshouse.cli.run_output import print_metrics
    from glasshouse.metrics.classification import CLASSIFICATION

    result = experiments.features(run, task, pooling, limit, field, label, device)
    yield result
    counts = ", ".join(f"{count:,} {split}" for split, count in result.rows.items())
    console.print(f"{result.width} features per text; rows: {counts}")
    if result.cut:
        console.print(f"{result.cut:,} texts are longer than the context of the run and were truncated")
    measured = {
        f"{scores.classifier}, {split}": metrics for scores in result.verdicts for split, metrics in scores.metrics.items()
    }
    print_metrics(measured, CLASSIFICATION)
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


@writes_output
def few_shot(
    run: Run,
    task: LabelledData,
    shots: Annotated[str, option("The numbers of examples in the context, separated by commas.")] = "0,1,2,4,8",
    examples: Annotated[int, option("The number of random held-out texts to classify.", low=1, high=10**6)] = 200,
    draws: Annotated[int, option("How often examples are drawn; the interval is over these draws.", low=1, high=10000)] = 3,
    template: Annotated[
        str | None, option("The template of an example; default: Text: {text}\\nLabel: {label}\\n\\n")
    ] = None,
    calibrate: Annotated[
        bool, option("Divide the probability of a label by its probability after an empty text.", "--calibrate")
    ] = False,
    output: Annotated[Path | None, option("A file for a figure of accuracy over shots, .svg or .png.")] = None,
    seed: Annotated[int, option("The random seed of the choice of texts and examples.", low=0, high=2**31 - 1)] = 0,
    field: Field = "text",
    label: Label = "label",
    device: Device = "auto",
) -> Iterator[object]:
    """Classify texts with a language model, from examples in its context and without training.

    The score of a label is the sum of the log-probabilities of its tokens after the text; the label with the highest score
    is the prediction. If the examples do not fit into the context, the earliest are left out. The table counts the prompts
    that this affects.

    Examples:
        glasshouse few-shot demo-lm --task presidents --shots 0,1,2 --examples 100
        glasshouse few-shot demo-lm --task mine.tsv --calibrate --output shots.svg
    """
    from glasshouse.api import experiments

    try:
        counts = tuple(dict.fromkeys(int(part) for part in shots.split(",")))
    except ValueError:
        raise GlasshouseError("is not a list of whole numbers; use for example --shots 0,1,2,4", "shots", shots) from None
    # In a shell, \n is two characters: a backslash and an n.
    unescaped = template.replace("\\n", "\n").replace("\\t", "\t") if template else None
    options = (counts, examples, draws, unescaped, calibrate, output, seed, field, label, device)
    result = experiments.few_shot(run, task, *options)
    yield result
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


def augment(
    run: Run,
    file: Annotated[Path, argument("A file of labelled rows (.tsv, .csv, .jsonl) or of plain lines.", "FILE")],
    output: Annotated[Path, option("The file to write, .tsv for labelled rows; it must not exist.")],
    copies: Annotated[int, option("The number of paraphrases per row.", high=1000)] = 2,
    share: Annotated[float, option("The share of a text's tokens to mask and sample again.")] = 0.15,
    temperature: Annotated[float, option("The sampling temperature; 0 takes the most likely token.")] = 1.0,
    seed: Annotated[int, option("The random seed; the same seed gives the same file.", high=2**63 - 1)] = 0,
    field: Field = "text",
    label: Label = "label",
    device: Device = "auto",
) -> Iterator[object]:
    """Write the rows of a file with paraphrases, in which a masked-token run has replaced some tokens.

    A paraphrase keeps the label of its row; the run does not use the label. Split off test rows before this command, not
    after: if a row is in the training split and its paraphrase in the test split, that is data leakage.

    Examples:
        glasshouse augment masked-model mine.tsv --output more.tsv
        glasshouse augment masked-model lines.txt --output more.txt --copies 5 --share 0.3 --temperature 0.7
    """
    from glasshouse.api import experiments

    result = experiments.augment(run, file, output, copies, share, temperature, seed, field, label, device)
    yield {**asdict(result), "path": str(result.path)}
    console.print(f"wrote {result.path}: {result.rows:,} rows and {result.copies:,} copies")
    changed = result.changed / result.hidden if result.hidden else 0.0
    console.print(f"{changed:.1%} of {result.hidden:,} masked tokens were replaced by other tokens")
    if result.unchanged_copies:
        console.print(f"{result.unchanged_copies:,} copies equal their row; raise --share or --temperature")
    console.print(
        "train on this file with data.validation=0 data.test=0 and use other rows for validation: copies resemble their row"
    )
