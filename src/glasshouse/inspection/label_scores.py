"""Scores of each class of a multi-label classifier on held-out texts, and the texts with the most wrong classes."""

from dataclasses import dataclass

import numpy as np

from glasshouse.inspection import held_out_texts
from glasshouse.results.report import LabelledText, ScoreTable
from glasshouse.runs.run import Run

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
    labels = run.task.labels
    scores = run.task.scores(run.model, held_out.shard, run.spec.evaluation, examples=held_out.examples)
    wrong = (scores.truth != scores.predicted).sum(1)
    by_errors = [index for index in np.argsort(-wrong, kind="stable") if wrong[index]]
    most = held_out_texts.distinct(by_errors, held_out.text, MOST_ERRORS)
    errors = [
        LabelledText(held_out.text(index), _names(labels, scores.truth[index]), _names(labels, scores.predicted[index]))
        for index in most
    ]
    return LabelScores(ScoreTable("class", scores.counts, held_out.where), tuple(errors))


def _names(labels: tuple[str, ...], chosen_C: np.ndarray) -> tuple[str, ...]:
    return tuple(labels[index] for index in np.flatnonzero(chosen_C))
