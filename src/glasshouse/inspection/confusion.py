"""Errors of a classifier on held-out texts: the confusion matrix, and the wrong predictions with the highest confidence."""

from dataclasses import dataclass

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.metrics.classification import confusion_matrix
from glasshouse.pages.report_content import Confusion, Mistake
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.classify import Classify

# Limits that keep a report quick to write and short to read.
MOST_TEXTS = 5000
MOST_MISTAKES = 5
MOST_CHARACTERS = 240


@dataclass(frozen=True)
class ClassifierErrors:
    """The errors of a classifier for its report. If there is no confusion matrix, `notes` says why."""

    confusion: Confusion | None = None
    mistakes: tuple[Mistake, ...] = ()
    notes: tuple[str, ...] = ()


def collect(run: Run) -> ClassifierErrors | None:
    """The errors on the test split, or on the validation split if the test split is empty; None without held-out data."""
    data = run.spec.data
    if not (data.source or data.files):
        return None
    try:
        prepared = prepared_data.prepare(data, run.tokenizer, columns=Classify.columns)
    except (GlasshouseError, OSError) as error:
        return ClassifierErrors(notes=(f"no confusion matrix: {error}",))
    if run.facts.get("data", prepared.fingerprint) != prepared.fingerprint:
        return ClassifierErrors(notes=("no confusion matrix: the data has changed since the run was trained",))
    split = next((split for split in ("test", "validation") if prepared.splits[split].documents), None)
    if split is None:
        return None
    task, shard = run.task, prepared.splits[split]
    assert isinstance(task, Classify)
    examples = np.arange(shard.documents)
    if shard.documents > MOST_TEXTS:
        examples = np.linspace(0, shard.documents - 1, MOST_TEXTS).round().astype(np.int64)
    probabilities = task.probabilities(run.model, shard, examples, run.spec.evaluation.batch)
    truth, predictions = np.asarray(shard.labels[examples], np.int64), probabilities.argmax(1)
    count = f"{len(examples):,} of {shard.documents:,}" if len(examples) < shard.documents else f"{len(examples):,}"
    matrix = Confusion(task.labels, confusion_matrix(truth, predictions, len(task.labels)), f"{count} {split} texts")
    wrong = np.flatnonzero(truth != predictions)
    most_confident = wrong[np.argsort(-probabilities[wrong, predictions[wrong]], kind="stable")[:MOST_MISTAKES]]
    texts = [document.text for document in prepared_data.find_source(data, Classify.columns).documents(split)]
    mistakes = [
        Mistake(
            _shorten(texts[examples[index]]),
            task.labels[truth[index]],
            task.labels[predictions[index]],
            float(probabilities[index, predictions[index]]),
        )
        for index in most_confident
    ]
    return ClassifierErrors(matrix, tuple(mistakes))


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
