"""Errors of a classifier on held-out texts: the confusion matrix, and the wrong predictions with the highest confidence.

They are stored in the run folder, so that a report can be made again after the data have moved.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TypedDict

import numpy as np

from glasshouse.formatting import probability
from glasshouse.inspection import held_out_texts
from glasshouse.inspection.held_out_texts import HeldOutTexts
from glasshouse.metrics.classification import confusion_matrix
from glasshouse.records import atomic_files, item_values, kept_json
from glasshouse.records.kept_schema import Count
from glasshouse.records.status import Status
from glasshouse.results.report import Confusion, Section
from glasshouse.results.table import Table
from glasshouse.runs.run import Run
from glasshouse.tasks.classify import PREDICTION, PROBABILITY, TRUTH

# The most that keeps a report short to read.
MOST_MISTAKES = 5
COLUMNS = ("text", "true class", "predicted class", "probability")
FORMAT = 1


class ConfusionFile(TypedDict):
    step: Count
    confusion: Confusion
    mistakes: list[list[str]]


def collect(run: Run) -> Section:
    """The errors on the test split, or on the validation split if the test split is empty; none without held-out data."""
    done = run.folder.recorded_status() == Status.DONE
    if done and (stored := _read(run)):
        return stored
    held_out = held_out_texts.find(run)
    if held_out is None:
        return Section()
    if isinstance(held_out, str):
        # The matrix from the stored predictions, without the texts of the errors, which only the data have.
        for split in ("test", "validation"):
            if PREDICTION in (values := item_values.read(run.folder, split)):
                return Section(notes=(f"no texts of errors: {held_out}",), confusion=_matrix(run, values, split))
        return Section(notes=(f"no confusion matrix: {held_out}",))
    values = item_values.read(run.folder, held_out.split) if done else {}
    if PREDICTION not in values:
        values = run.task.evaluate(run.model, held_out.shard, run.spec.evaluation).items
    matrix = _matrix(run, values, held_out.split)
    mistakes = _mistakes(replace(held_out, examples=np.arange(held_out.shard.documents)), values)
    if done:
        content = {"format": FORMAT, "step": run.final_step, "mistakes": mistakes}
        atomic_files.write_json(run.folder.confusion_file, {**content, "confusion": asdict(matrix)})
    return _section(matrix, mistakes)


def _section(matrix: Confusion, mistakes: Sequence[Sequence[str]]) -> Section:
    return Section(confusion=matrix, errors=Table("Most confident errors", COLUMNS, mistakes) if mistakes else None)


def _matrix(run: Run, values: dict[str, np.ndarray], split: str) -> Confusion:
    counts = confusion_matrix(values[TRUTH], values[PREDICTION], len(run.task.labels))
    return Confusion(run.task.labels, counts.tolist(), f"{len(values[TRUTH]):,} {split} texts")


def _mistakes(held_out: HeldOutTexts, values: dict[str, np.ndarray]) -> list[tuple[str, ...]]:
    """The wrong predictions as text, most confident first."""
    truth, predicted, sizes = values[TRUTH], values[PREDICTION], values[PROBABILITY]
    wrong = np.flatnonzero(truth != predicted)
    by_confidence = wrong[np.argsort(-sizes[wrong], kind="stable")]
    labels = held_out.run.task.labels
    return [
        (held_out.text(index), labels[truth[index]], labels[predicted[index]], probability(float(sizes[index])))
        for index in held_out_texts.distinct(by_confidence, held_out.text, MOST_MISTAKES)
    ]


def _read(run: Run) -> Section | None:
    """The stored errors, if they belong to the weights that the run has now."""
    try:
        content = kept_json.read(run.folder.confusion_file, ConfusionFile)
    except (OSError, ValueError):
        return None
    kept = content["confusion"]
    if content["step"] != run.final_step or {len(kept.counts), *map(len, kept.counts)} != {len(kept.labels)}:
        return None
    return _section(kept, content["mistakes"])
