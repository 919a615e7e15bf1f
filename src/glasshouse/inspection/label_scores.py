"""Scores of each class of a multi-label classifier on held-out texts, and the texts with the most wrong classes."""

from dataclasses import dataclass

import numpy as np

from glasshouse.inspection import held_out_texts
from glasshouse.metrics import label_counts
from glasshouse.results.report import LabelledText, ScoreTable
from glasshouse.runs.run import Run
from glasshouse.tasks.multi_label import MultiLabel

MOST_ERRORS = 5


@dataclass(frozen=True)
class LabelScores:
    """The scores of each class for a report. If there are none, `notes` says why."""

    scores: ScoreTable | None = None
    errors: tuple[LabelledText, ...] = ()
    notes: tuple[str, ...] = ()


def collect(run: Run) -> LabelScores | None:
    """The scores on held-out texts; None without any."""
    held_out = held_out_texts.find(run)
    if held_out is None:
        return None
    if isinstance(held_out, str):
        return LabelScores(notes=(f"no scores of the classes: {held_out}",))
    task = run.task
    assert isinstance(task, MultiLabel)
    truth_NC = task.truth(held_out.shard, held_out.examples)
    predicted_NC = task.predicted(run.model, held_out.shard, held_out.examples, run.spec.evaluation.batch)
    wrong = (truth_NC != predicted_NC).sum(1)
    by_errors = [index for index in np.argsort(-wrong, kind="stable") if wrong[index]]
    most = held_out_texts.distinct(by_errors, held_out.text, MOST_ERRORS)
    errors = [
        LabelledText(held_out.text(index), _names(task, truth_NC[index]), _names(task, predicted_NC[index]))
        for index in most
    ]
    counts = label_counts.of_sets(truth_NC, predicted_NC, task.labels)
    return LabelScores(ScoreTable("class", counts, held_out.where), tuple(errors))


def _names(task: MultiLabel, chosen_C: np.ndarray) -> tuple[str, ...]:
    return tuple(task.labels[index] for index in np.flatnonzero(chosen_C))
