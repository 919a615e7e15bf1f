"""Predicted and true numbers of held-out texts, and the texts with the largest errors."""

from dataclasses import dataclass

import numpy as np

from glasshouse.inspection import held_out_texts
from glasshouse.results.report import PredictedNumber, Regression
from glasshouse.runs.run import Run

MOST_ERRORS = 5


@dataclass(frozen=True)
class RegressionErrors:
    """The numbers of a regression for its report. If there are none, `notes` says why."""

    regression: Regression | None = None
    notes: tuple[str, ...] = ()


def collect(run: Run) -> RegressionErrors | None:
    """The numbers of held-out texts; None without any."""
    held_out = held_out_texts.find(run)
    if held_out is None:
        return None
    if isinstance(held_out, str):
        return RegressionErrors(notes=(f"no predicted numbers: {held_out}",))
    scores = run.task.scores(run.model, held_out.shard, run.spec.evaluation, examples=held_out.examples)
    truth, predictions = scores.truth, scores.prediction
    by_error = np.argsort(-np.abs(predictions - truth), kind="stable")
    largest = held_out_texts.distinct(by_error, held_out.text, MOST_ERRORS)
    errors = [PredictedNumber(held_out.text(index), float(truth[index]), float(predictions[index])) for index in largest]
    return RegressionErrors(Regression(truth, predictions, held_out.where, tuple(errors)))
