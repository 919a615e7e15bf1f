"""Errors of a classifier on held-out texts: the confusion matrix, and the wrong predictions with the highest confidence.

They are stored in the run folder, so that a report can be made again after the data have moved.
"""

from dataclasses import asdict, dataclass
from typing import TypedDict

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.inspection import held_out_texts
from glasshouse.metrics.classification import confusion_matrix
from glasshouse.records import atomic_files, item_values, kept_json
from glasshouse.records.kept_schema import Count
from glasshouse.records.status import Status
from glasshouse.results.report import Confusion, Mistake
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.classify import PREDICTION, PROBABILITY, TRUTH

# The most that keeps a report short to read.
MOST_MISTAKES = 5
FORMAT = 1


class KeptConfusion(TypedDict):
    """A confusion matrix in its file."""

    labels: list[str]
    counts: list[list[Count]]
    where: str


class ConfusionFile(TypedDict):
    """The content of `confusion.json`."""

    step: Count
    confusion: KeptConfusion
    mistakes: list[Mistake]


@dataclass(frozen=True)
class ClassifierErrors:
    """The errors of a classifier for its report. If there is no confusion matrix, `notes` says why."""

    confusion: Confusion | None = None
    mistakes: tuple[Mistake, ...] = ()
    notes: tuple[str, ...] = ()


def collect(run: Run) -> ClassifierErrors | None:
    """The errors on the test split, or on the validation split if the test split is empty; None without held-out data."""
    if stored := _read(run):
        return stored
    try:
        errors = _compute(run)
    except (GlasshouseError, OSError) as error:
        return _from_items(run, str(error))
    # Without the texts of the errors it is not complete; the data may come back.
    complete = errors is not None and errors.confusion is not None and not errors.notes
    if errors is not None and complete and run.folder.recorded_status() == Status.DONE:
        _write(run, errors)
    return errors


def _compute(run: Run) -> ClassifierErrors | None:
    """The errors from the data: predictions of the final evaluation, or new ones for a run that has not stored any."""
    data = run.spec.data
    if not (data.source or data.files):
        return None
    prepared = prepared_data.prepare(data, run.tokenizer, columns=run.task.columns)
    if run.facts.get("data", prepared.fingerprint) != prepared.fingerprint:
        return _from_items(run, "the data has changed since the run was trained")
    split = next((split for split in ("test", "validation") if prepared.splits[split].documents), None)
    if split is None:
        return None
    values = item_values.read(run.folder, split) if run.folder.recorded_status() == Status.DONE else {}
    if PREDICTION not in values:
        values = run.task.evaluate(run.model, prepared.splits[split], run.spec.evaluation).items
    columns = run.task.columns
    documents = list(prepared_data.find_source(data, columns).documents(split))
    mistakes = [
        Mistake(
            held_out_texts.shown(documents[index], columns), *_answer(run, values, index), float(values[PROBABILITY][index])
        )
        for index in held_out_texts.distinct(
            _most_confident(values), lambda index: held_out_texts.shown(documents[index], columns), MOST_MISTAKES
        )
    ]
    return ClassifierErrors(_matrix(run, values, split), tuple(mistakes))


def _from_items(run: Run, reason: str) -> ClassifierErrors:
    """The matrix from the stored predictions, without the texts of the errors, which only the data have."""
    for split in ("test", "validation"):
        if PREDICTION in (values := item_values.read(run.folder, split)):
            return ClassifierErrors(_matrix(run, values, split), notes=(f"no texts of errors: {reason}",))
    return ClassifierErrors(notes=(f"no confusion matrix: {reason}",))


def _matrix(run: Run, values: dict[str, np.ndarray], split: str) -> Confusion:
    labels = run.task.labels
    counts = confusion_matrix(values[TRUTH], values[PREDICTION], len(labels))
    return Confusion(labels, counts, f"{len(values[TRUTH]):,} {split} texts")


def _most_confident(values: dict[str, np.ndarray]) -> np.ndarray:
    """The wrong predictions, most confident first."""
    wrong = np.flatnonzero(values[TRUTH] != values[PREDICTION])
    return wrong[np.argsort(-values[PROBABILITY][wrong], kind="stable")]


def _answer(run: Run, values: dict[str, np.ndarray], index: int) -> tuple[str, str]:
    labels = run.task.labels
    return labels[values[TRUTH][index]], labels[values[PREDICTION][index]]


def _write(run: Run, errors: ClassifierErrors) -> None:
    assert errors.confusion is not None
    confusion = {**asdict(errors.confusion), "counts": errors.confusion.counts.tolist()}
    content = {"format": FORMAT, "step": run.final_step, "confusion": confusion}
    atomic_files.write_json(run.folder.confusion_file, {**content, "mistakes": [asdict(one) for one in errors.mistakes]})


def _read(run: Run) -> ClassifierErrors | None:
    """What is stored, if it belongs to the weights that the run has now."""
    try:
        content = kept_json.read(run.folder.confusion_file, ConfusionFile)
        if content["step"] != run.final_step or run.folder.recorded_status() != Status.DONE:
            return None
        stored = content["confusion"]
        confusion = Confusion(tuple(stored["labels"]), np.array(stored["counts"]), stored["where"])
        return ClassifierErrors(confusion, tuple(Mistake(**one) for one in content["mistakes"]))
    except (OSError, ValueError, GlasshouseError):
        return None
