"""Experiments on a trained run: features for simple classifiers, few-shot classification, paraphrases as more data."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from glasshouse.generation import augmentation
from glasshouse.generation.augmentation import Augmented
from glasshouse.generation.paraphrase import Paraphrase, paraphrase
from glasshouse.generation.sampling import Sampling
from glasshouse.inspection import feature_classifiers, labelled_texts
from glasshouse.inspection import few_shot as few_shot_classification
from glasshouse.inspection.feature_classifiers import Features
from glasshouse.inspection.few_shot import FewShot
from glasshouse.pages import figures
from glasshouse.records import progress_bar
from glasshouse.runs.run import Run


def features(
    run: str | PathLike[str],
    data: str,
    pooling: str = "mean",
    limit: int = 0,
    field: str = "text",
    label: str = "label",
    device: str = "auto",
) -> Features:
    """Train a logistic regression and a linear SVM on a run's frozen features, and measure them.

    `data` is a labelled data set by name, or a file of labelled rows. `limit` rows of each split are used; 0 means all.
    """
    splits = {split: rows.sample(limit) for split, rows in labelled_texts.read(data, field, label).items()}
    with progress_bar.bar("computing features") as bar:
        return feature_classifiers.examine(Run(run, device), splits, pooling, bar)


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

    `output` names a picture of accuracy against the number of shots, .svg or .png.
    """
    if output:
        figures.check_path(Path(output))
    splits = labelled_texts.read(data, field, label)
    with progress_bar.bar("classifying") as bar:
        form = template or few_shot_classification.TEMPLATE
        how = (shots, examples, draws, form, calibrate, seed, bar)
        found = few_shot_classification.measure(Run(run, device), splits, *how)
    if output:
        few_shot_classification.draw(found, Path(output))
    return found


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
) -> Augmented:
    """Write the rows of a file and `copies` paraphrases of each, in which a masked-token run has replaced some tokens."""
    sampling = Sampling(temperature=temperature, seed=seed)
    augmentation.check(Path(file), Path(output))
    opened = Run(run, device)
    with progress_bar.bar("paraphrasing") as bar:

        def made(texts: Sequence[str]) -> list[list[Paraphrase]]:
            how = (opened.spec.data.context, copies, share, sampling)
            return paraphrase(opened.model, opened.tokenizer, texts, *how, progress=bar)

        return augmentation.augment(Path(file), Path(output), made, field, label)
