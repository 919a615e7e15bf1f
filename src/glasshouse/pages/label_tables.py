"""Tables of how well each label is predicted: the confusion matrix of the most frequent ones; precision, recall and F1."""

from dataclasses import dataclass

import numpy as np

from glasshouse.formatting import MISSING
from glasshouse.metrics.classification import LabelCounts
from glasshouse.pages import token_shading
from glasshouse.results.report import Confusion, ScoreTable
from glasshouse.results.table import Table

MOST_CLASSES = 16
MOST_SCORES = 40


@dataclass(frozen=True)
class ConfusionTable:
    """The whole table as text. `cells` are (shade, share of the row, tooltip), by true class and by predicted class."""

    labels: tuple[str, ...]
    cells: list[list[tuple[int, str, str]]]
    recall: list[str]
    texts: list[str]
    precision: list[str]
    predictions: list[str]
    accuracy: str
    total: str


def confusion_table(confusion: Confusion) -> ConfusionTable:
    labels, counts, correct = _merge_rare_classes(confusion)
    row_totals, column_totals = counts.sum(1), counts.sum(0)

    def cell(row: int, column: int) -> tuple[int, str, str]:
        count, total = counts[row, column], row_totals[row]
        share = count / total if total else 0.0
        title = f"{count:,} of {total:,} texts of class {labels[row]} were classified as {labels[column]}"
        return token_shading.shade(share), _percent(share) if count else "", title

    return ConfusionTable(
        labels,
        [[cell(row, column) for column in range(len(labels))] for row in range(len(labels))],
        list(map(_ratio, correct, row_totals)),
        [f"{total:,}" for total in row_totals],
        list(map(_ratio, correct, column_totals)),
        [f"{total:,}" for total in column_totals],
        _ratio(correct.sum(), counts.sum()),
        f"{counts.sum():,}",
    )


def _merge_rare_classes(confusion: Confusion) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Labels, counts and correct predictions by class, with the rarest classes merged into one row and column.

    The diagonal of the merged class also counts texts of one rare class that were classified as another. They are not
    correct, so correct predictions are counted before the merge.
    """
    counts = np.asarray(confusion.counts)
    correct = np.diag(counts)
    if len(counts) <= MOST_CLASSES:
        return confusion.labels, counts, correct
    order = np.argsort(-counts.sum(1), kind="stable")
    kept, merged = np.sort(order[: MOST_CLASSES - 1]), order[MOST_CLASSES - 1 :]
    # membership[i, j] is 1 if class i belongs to row j of the table.
    membership = np.zeros((len(counts), MOST_CLASSES), counts.dtype)
    membership[kept, np.arange(len(kept))] = 1
    membership[merged, -1] = 1
    labels = (*(confusion.labels[index] for index in kept), f"{len(merged)} others")
    return labels, membership.T @ counts @ membership, membership.T @ correct


def _ratio(part: float, whole: float) -> str:
    return _percent(part / whole) if whole else MISSING


def _percent(share: float) -> str:
    """A whole percentage; a small share above zero is "<1 %", and one just below all is ">99 %"."""
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{share:.0%}".replace("%", " %")


def score_table(scores: ScoreTable) -> Table:
    """A row for each of the most frequent labels, and one for all labels together."""
    order = np.argsort(-scores.counts.actual, kind="stable")[:MOST_SCORES]
    rows = [*(_score_row(scores.counts, index) for index in order), _score_row(scores.counts.total(), 0)]
    left_out = len(scores.counts.names) - MOST_SCORES
    remark = f"{left_out:,} rarer rows are not shown; the last row counts them." if left_out > 0 else ""
    return Table("", (scores.heading, "precision", "recall", "F1", "true", "predicted"), rows, remark)


def _score_row(counts: LabelCounts, index: int) -> tuple[str, ...]:
    predicted, actual = int(counts.predicted[index]), int(counts.actual[index])
    return (
        counts.names[index],
        f"{counts.precision[index]:.3f}" if predicted else MISSING,
        f"{counts.recall[index]:.3f}" if actual else MISSING,
        f"{counts.f1[index]:.3f}" if predicted or actual else MISSING,
        f"{actual:,}",
        f"{predicted:,}",
    )
