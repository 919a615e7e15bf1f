"""Public functions for experiments with a trained run: features, few-shot classification, data augmentation."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from glasshouse.api.opened_run import run_of
from glasshouse.generation.paraphrase import (
    AugmentedFile,
    Paraphrase,
    check_augmented,
    paraphrase,
    write_augmented,
)
from glasshouse.generation.sampling_options import Sampling
from glasshouse.inspection import feature_classifiers, labelled_texts
from glasshouse.inspection import few_shot as few_shot_classification
from glasshouse.inspection.feature_classifiers import Features
from glasshouse.inspection.few_shot import FewShot
from glasshouse.pages import figures, line_charts
from glasshouse.records import progress_bar


def features(
    run: str | PathLike[str],
    data: str,
    pooling: str = "mean",
    limit: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> Features:
    """Train a logistic regression and a linear SVM on the frozen features of a run, and evaluate both.

    `data` is the name of a labelled data set, or a file of labelled rows. `limit` rows of each split are used; 0 means all.
    """
    splits = {split: rows.sample(limit) for split, rows in labelled_texts.read(data, field, label).items()}
    with progress_bar.bar("computing features") as bar:
        return feature_classifiers.train_and_evaluate(run_of(run, device), splits, pooling, bar)


def few_shot(
    run: str | PathLike[str],
    data: str,
    shots: Sequence[int] = (0, 1, 2, 4, 8),
    examples: int = 200,
    draws: int = 3,
    template: str | None = None,
    calibrate: bool = False,
    output: str | PathLike[str] | None = None,
    seed: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> FewShot:
    """Classify held-out texts with a language model, from labelled examples in its context and without training.

    `output` is the file for a figure of accuracy over the number of shots, .svg or .png.
    """
    if output:
        figures.check_path(Path(output))
    splits = labelled_texts.read(data, field, label)
    with progress_bar.bar("classifying") as bar:
        example_template = template or few_shot_classification.TEMPLATE
        options = (shots, examples, draws, example_template, calibrate, seed, bar)
        result = few_shot_classification.measure(run_of(run, device), splits, *options)
    if output:
        draw_few_shot(result, Path(output))
    return result


def draw_few_shot(result: FewShot, path: Path) -> None:
    """Draw accuracy over the number of shots. The suffix of the path, .svg or .png, decides the format."""
    points = {float(accuracy.shots): (accuracy.mean, accuracy.low, accuracy.high) for accuracy in result.by_shots}
    chart = line_charts.settings_chart({"": points}, "examples in the context", "accuracy")
    figures.draw({"": line_charts.with_baseline(chart, "most frequent class", result.majority)}, path, 6.4, 4.0)


def augment(
    run: str | PathLike[str],
    file: str | PathLike[str],
    output: str | PathLike[str],
    copies: int = 2,
    share: float = 0.15,
    temperature: float = 1.0,
    seed: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> AugmentedFile:
    """Write the rows of a file with `copies` paraphrases of each, in which a masked-token run has replaced some tokens."""
    sampling = Sampling(temperature=temperature, seed=seed)
    check_augmented(Path(file), Path(output))
    opened = run_of(run, device)
    with progress_bar.bar("paraphrasing") as bar:

        def paraphrase_texts(texts: Sequence[str]) -> list[list[Paraphrase]]:
            options = (opened.spec.data.context, copies, share, sampling)
            return paraphrase(opened.model, opened.tokenizer, texts, *options, progress=bar)

        return write_augmented(Path(file), Path(output), paraphrase_texts, field, label)
