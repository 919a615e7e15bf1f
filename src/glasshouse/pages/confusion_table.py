"""A confusion table made ready for a page: shares of each row, shaded, with recall and precision at the margins.

Of many classes the commonest keep rows of their own and the rest become one, because a table that does not fit is not read.
"""

from dataclasses import dataclass

import numpy as np

from glasshouse.pages import token_shading
from glasshouse.pages.report_content import Confusion

MOST_CLASSES = 16


@dataclass(frozen=True)
class ConfusionCell:
    shade: int
    share: str  # of the row
    title: str
    right: bool


@dataclass(frozen=True)
class ConfusionRow:
    label: str
    cells: tuple[ConfusionCell, ...]
    recall: str
    texts: str


@dataclass(frozen=True)
class ConfusionTable:
    columns: tuple[str, ...]
    rows: tuple[ConfusionRow, ...]
    precision: tuple[str, ...]
    answers: tuple[str, ...]
    accuracy: str
    texts: str
    where: str


def table(confusion: Confusion) -> ConfusionTable:
    """The table as text, ready to be written out."""
    labels, counts, right = _folded(confusion)
    there, said = counts.sum(1), counts.sum(0)
    rows = []
    for row, label in enumerate(labels):
        cells = []
        for column, other in enumerate(labels):
            share = counts[row, column] / there[row] if there[row] else 0.0
            title = f"{counts[row, column]:,} of {there[row]:,} texts of {label} were taken for {other}"
            cells.append(
                ConfusionCell(
                    token_shading.shade(share), _percent(share) if counts[row, column] else "", title, row == column
                )
            )
        rows.append(ConfusionRow(label, tuple(cells), _ratio(right[row], there[row]), f"{there[row]:,}"))
    return ConfusionTable(
        labels,
        tuple(rows),
        tuple(_ratio(right[column], said[column]) for column in range(len(labels))),
        tuple(f"{number:,}" for number in said),
        _ratio(right.sum(), counts.sum()),
        f"{counts.sum():,}",
        confusion.where,
    )


def _folded(confusion: Confusion) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """(labels, counts, right answers of each) with all but the commonest classes in one row and column.

    A class that was taken for another of the same fold is not a right answer, though it stands on the diagonal.
    """
    counts = np.asarray(confusion.counts)
    right = np.diag(counts)
    if len(counts) <= MOST_CLASSES:
        return confusion.labels, counts, right
    order = np.argsort(-counts.sum(1), kind="stable")
    kept, rest = np.sort(order[: MOST_CLASSES - 1]), order[MOST_CLASSES - 1 :]
    fold = np.zeros((len(counts), MOST_CLASSES), counts.dtype)
    fold[kept, np.arange(len(kept))] = 1
    fold[rest, -1] = 1
    labels = (*(confusion.labels[index] for index in kept), f"{len(rest)} others")
    return labels, fold.T @ counts @ fold, fold.T @ right


def _ratio(part: float, whole: float) -> str:
    return _percent(part / whole) if whole else "–"


def _percent(share: float) -> str:
    """Whole percents, in which little is not nothing and nearly all is not all."""
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{share:.0%}".replace("%", " %")
