"""The table of scores: the most frequent label first, all labels last, and no score where there is nothing to count."""

import numpy as np

from glasshouse.metrics.label_counts import LabelCounts
from glasshouse.pages.score_rows import MOST_ROWS, remark, rows
from glasshouse.results.report import ScoreTable


def test_frequent_labels_come_first_and_the_total_last():
    counts = LabelCounts(("rare", "often", "never"), np.array([1, 6, 0]), np.array([4, 8, 0]), np.array([2, 12, 0]))
    often, rare, never, total = rows(ScoreTable("class", counts, "texts"))
    assert (often.name, often.precision, often.recall, often.f1) == ("often", "0.750", "0.500", "0.600")
    assert (rare.actual, rare.predicted) == ("2", "4")
    assert (never.precision, never.recall, never.f1) == ("–", "–", "–")
    assert (total.name, total.actual, total.predicted) == ("all", "14", "12")


def test_a_long_table_says_what_it_leaves_out():
    ones = np.ones(MOST_ROWS + 3, np.int64)
    table = ScoreTable("tag", LabelCounts(tuple(map(str, range(MOST_ROWS + 3))), ones, ones, ones), "texts")
    assert len(rows(table)) == MOST_ROWS + 1
    assert remark(table).startswith("3 rarer rows")
    assert rows(table)[-1].actual == f"{MOST_ROWS + 3}"
