"""Tables of how well each label is predicted, as cells of HTML tables: the confusion matrix, and precision, recall and F1.

If there are many classes, the most frequent keep their own rows: a table that is wider than the page is hard to read.
"""

from dataclasses import dataclass

import numpy as np

from glasshouse.formatting import MISSING
from glasshouse.metrics.label_counts import LabelCounts
from glasshouse.pages import token_shading
from glasshouse.results.report import Confusion, ScoreTable

MOST_CLASSES = 16
MOST_SCORES = 40


@dataclass(frozen=True)
class ConfusionCell:
    """A cell: its shade, its share of the row as text, its tooltip, and whether it counts correct predictions."""

    shade: int
    share: str
    title: str
    correct: bool


@dataclass(frozen=True)
class ConfusionRow:
    """The texts of one true class."""

    label: str
    cells: tuple[ConfusionCell, ...]
    recall: str
    texts: str


@dataclass(frozen=True)
class ConfusionTable:
    """The whole table as text; `where` names the texts that were classified."""

    columns: tuple[str, ...]
    rows: tuple[ConfusionRow, ...]
    precision: tuple[str, ...]
    predictions: tuple[str, ...]
    accuracy: str
    texts: str
    where: str


def confusion_table(confusion: Confusion) -> ConfusionTable:
    """Format a confusion matrix for the page."""
    labels, counts, correct = _merge_rare_classes(confusion)
    row_totals, column_totals = counts.sum(1), counts.sum(0)
    rows = []
    for row, label in enumerate(labels):
        cells = []
        for column, other in enumerate(labels):
            share = counts[row, column] / row_totals[row] if row_totals[row] else 0.0
            title = f"{counts[row, column]:,} of {row_totals[row]:,} texts of class {label} were classified as {other}"
            cells.append(
                ConfusionCell(
                    token_shading.shade(share), _percent(share) if counts[row, column] else "", title, row == column
                )
            )
        rows.append(ConfusionRow(label, tuple(cells), _ratio(correct[row], row_totals[row]), f"{row_totals[row]:,}"))
    return ConfusionTable(
        labels,
        tuple(rows),
        tuple(_ratio(correct[column], column_totals[column]) for column in range(len(labels))),
        tuple(f"{total:,}" for total in column_totals),
        _ratio(correct.sum(), counts.sum()),
        f"{counts.sum():,}",
        confusion.where,
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


@dataclass(frozen=True)
class ScoreRow:
    """A label with its scores as text."""

    name: str
    precision: str
    recall: str
    f1: str
    actual: str
    predicted: str


def score_rows(table: ScoreTable) -> tuple[ScoreRow, ...]:
    """A row for each of the most frequent labels, and one for all labels together."""
    order = np.argsort(-table.counts.actual, kind="stable")[:MOST_SCORES]
    return (*(_score_row(table.counts, index) for index in order), _score_row(table.counts.total(), 0))


def score_remark(table: ScoreTable) -> str:
    """What the table leaves out; empty if nothing."""
    left_out = len(table.counts.names) - MOST_SCORES
    return f"{left_out:,} rarer rows are not shown; the last row counts them." if left_out > 0 else ""


def _score_row(counts: LabelCounts, index: int) -> ScoreRow:
    predicted, actual = int(counts.predicted[index]), int(counts.actual[index])
    return ScoreRow(
        counts.names[index],
        f"{counts.precision[index]:.3f}" if predicted else MISSING,
        f"{counts.recall[index]:.3f}" if actual else MISSING,
        f"{counts.f1[index]:.3f}" if predicted or actual else MISSING,
        f"{actual:,}",
        f"{predicted:,}",
    )
