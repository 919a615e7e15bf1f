"""Precision, recall and F1 of each label as cells for an HTML table, the most frequent label first."""

from dataclasses import dataclass

import numpy as np

from glasshouse.formatting import MISSING
from glasshouse.metrics.label_counts import LabelCounts
from glasshouse.results.report import ScoreTable

MOST_ROWS = 40


@dataclass(frozen=True)
class ScoreRow:
    """A label with its scores as text."""

    name: str
    precision: str
    recall: str
    f1: str
    actual: str
    predicted: str


def rows(table: ScoreTable) -> tuple[ScoreRow, ...]:
    """A row for each of the most frequent labels, and one for all labels together."""
    order = np.argsort(-table.counts.actual, kind="stable")[:MOST_ROWS]
    return (*(_row(table.counts, index) for index in order), _row(table.counts.total(), 0))


def remark(table: ScoreTable) -> str:
    """What the table leaves out; empty if nothing."""
    left_out = len(table.counts.names) - MOST_ROWS
    return f"{left_out:,} rarer rows are not shown; the last row counts them." if left_out > 0 else ""


def _row(counts: LabelCounts, index: int) -> ScoreRow:
    predicted, actual = int(counts.predicted[index]), int(counts.actual[index])
    return ScoreRow(
        counts.names[index],
        f"{counts.precision[index]:.3f}" if predicted else MISSING,
        f"{counts.recall[index]:.3f}" if actual else MISSING,
        f"{counts.f1[index]:.3f}" if predicted or actual else MISSING,
        f"{actual:,}",
        f"{predicted:,}",
    )
