"""Errors of a classifier on held-out texts: the confusion matrix, and the wrong predictions with the highest confidence."""

from dataclasses import dataclass

import numpy as np

from glasshouse.inspection import held_out_texts
from glasshouse.metrics.classification import confusion_matrix
from glasshouse.pages.report_content import Confusion, Mistake
from glasshouse.runs.run import Run
from glasshouse.tasks.classify import Classify

MOST_MISTAKES = 5


@dataclass(frozen=True)
class ClassifierErrors:
    """The errors of a classifier for its report. If there is no confusion matrix, `notes` says why."""

    confusion: Confusion | None = None
    mistakes: tuple[Mistake, ...] = ()
    notes: tuple[str, ...] = ()


def collect(run: Run) -> ClassifierErrors | None:
    """The errors on held-out texts; None without any."""
    held_out = held_out_texts.find(run)
    if held_out is None:
        return None
    if isinstance(held_out, str):
        return ClassifierErrors(notes=(f"no confusion matrix: {held_out}",))
    task, shard, examples = run.task, held_out.shard, held_out.examples
    assert isinstance(task, Classify)
    probabilities = task.probabilities(run.model, shard, examples, run.spec.evaluation.batch)
    truth, predictions = np.asarray(shard.labels[examples], np.int64), probabilities.argmax(1)
    matrix = Confusion(task.labels, confusion_matrix(truth, predictions, len(task.labels)), held_out.where)
    wrong = np.flatnonzero(truth != predictions)
    most_confident = wrong[np.argsort(-probabilities[wrong, predictions[wrong]], kind="stable")[:MOST_MISTAKES]]
    mistakes = [
        Mistake(
            held_out.text(index),
            task.labels[truth[index]],
            task.labels[predictions[index]],
            float(probabilities[index, predictions[index]]),
        )
        for index in most_confident
    ]
    return ClassifierErrors(matrix, tuple(mistakes))
