"""The tables of labels: merged rare classes, frequent labels first, and no score where there is nothing to count."""

import numpy as np
from sklearn import metrics

from glasshouse.metrics.label_counts import LabelCounts
from glasshouse.pages.label_tables import MOST_CLASSES, MOST_SCORES, confusion_table, score_remark, score_rows
from glasshouse.results.report import Confusion, ScoreTable


def test_recall_precision_and_accuracy_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    truth, predictions = random.integers(0, 3, 400), random.integers(0, 3, 400)
    result = confusion_table(Confusion(("a", "b", "c"), metrics.confusion_matrix(truth, predictions), "400 texts"))
    recall = metrics.recall_score(truth, predictions, average=None)
    precision = metrics.precision_score(truth, predictions, average=None)
    assert [row.recall for row in result.rows] == [f"{share:.0%}".replace("%", " %") for share in recall]
    assert list(result.precision) == [f"{share:.0%}".replace("%", " %") for share in precision]
    assert result.accuracy == f"{(truth == predictions).mean():.0%}".replace("%", " %")
    assert [row.texts for row in result.rows] == [str((truth == label).sum()) for label in range(3)]


def test_small_shares_are_not_zero_and_a_class_without_texts_has_no_recall() -> None:
    result = confusion_table(Confusion(("a", "b", "c"), np.array([[999, 1, 0], [0, 0, 0], [0, 0, 5]]), "texts"))
    assert [cell.share for cell in result.rows[0].cells] == [">99 %", "<1 %", ""]
    assert result.rows[0].cells[1].title == "1 of 1,000 texts of class a were classified as b"
    assert result.rows[1].recall == "–"
    assert result.precision == ("100 %", "0 %", "100 %")
    assert result.rows[2].cells[2].correct


def test_rare_classes_are_merged_into_one_row() -> None:
    count = MOST_CLASSES + 5
    counts = np.diag(np.arange(1, count + 1))
    counts[0, 1] = 3  # both classes are merged, but these are still errors
    result = confusion_table(Confusion(tuple(f"c{index}" for index in range(count)), counts, "texts"))
    assert len(result.rows) == MOST_CLASSES
    assert result.columns[-1] == "6 others"
    assert result.rows[-1].texts == str(sum(range(1, 7)) + 3)
    assert result.rows[-1].recall == f"{21 / 24:.0%}".replace("%", " %")
    assert result.rows[0].label == "c6"


def test_frequent_labels_come_first_and_the_total_last():
    counts = LabelCounts(("rare", "often", "never"), np.array([1, 6, 0]), np.array([4, 8, 0]), np.array([2, 12, 0]))
    often, rare, never, total = score_rows(ScoreTable("class", counts, "texts"))
    assert (often.name, often.precision, often.recall, often.f1) == ("often", "0.750", "0.500", "0.600")
    assert (rare.actual, rare.predicted) == ("2", "4")
    assert (never.precision, never.recall, never.f1) == ("–", "–", "–")
    assert (total.name, total.actual, total.predicted) == ("all", "14", "12")


def test_a_long_table_says_what_it_leaves_out():
    ones = np.ones(MOST_SCORES + 3, np.int64)
    table = ScoreTable("tag", LabelCounts(tuple(map(str, range(MOST_SCORES + 3))), ones, ones, ones), "texts")
    assert len(score_rows(table)) == MOST_SCORES + 1
    assert score_remark(table).startswith("3 rarer rows")
    assert score_rows(table)[-1].actual == f"{MOST_SCORES + 3}"
