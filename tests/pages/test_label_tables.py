"""The tables of labels: merged rare classes, frequent labels first, and no score where there is nothing to count."""

import numpy as np
from sklearn import metrics

from glasshouse.metrics.classification import LabelCounts
from glasshouse.pages.label_tables import MOST_CLASSES, MOST_SCORES, confusion_table, score_table
from glasshouse.results.report import Confusion, ScoreTable


def test_recall_precision_and_accuracy_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    truth, predictions = random.integers(0, 3, 400), random.integers(0, 3, 400)
    result = confusion_table(Confusion(("a", "b", "c"), metrics.confusion_matrix(truth, predictions).tolist(), "400 texts"))
    recall = metrics.recall_score(truth, predictions, average=None)
    precision = metrics.precision_score(truth, predictions, average=None)
    assert result.recall == [f"{share:.0%}".replace("%", " %") for share in recall]
    assert result.precision == [f"{share:.0%}".replace("%", " %") for share in precision]
    assert result.accuracy == f"{(truth == predictions).mean():.0%}".replace("%", " %")
    assert result.texts == [str((truth == label).sum()) for label in range(3)]


def test_small_shares_are_not_zero_and_a_class_without_texts_has_no_recall() -> None:
    result = confusion_table(Confusion(("a", "b", "c"), [[999, 1, 0], [0, 0, 0], [0, 0, 5]], "texts"))
    assert [share for _, share, _ in result.cells[0]] == [">99 %", "<1 %", ""]
    assert result.cells[0][1][2] == "1 of 1,000 texts of class a were classified as b"
    assert result.recall[1] == "–"
    assert result.precision == ["100 %", "0 %", "100 %"]


def test_rare_classes_are_merged_into_one_row() -> None:
    count = MOST_CLASSES + 5
    counts = np.diag(np.arange(1, count + 1))
    counts[0, 1] = 3  # both classes are merged, but these are still errors
    result = confusion_table(Confusion(tuple(f"c{index}" for index in range(count)), counts.tolist(), "texts"))
    assert len(result.cells) == MOST_CLASSES
    assert result.labels[-1] == "6 others"
    assert result.texts[-1] == str(sum(range(1, 7)) + 3)
    assert result.recall[-1] == f"{21 / 24:.0%}".replace("%", " %")
    assert result.labels[0] == "c6"


def test_frequent_labels_come_first_and_the_total_last():
    counts = LabelCounts(("rare", "often", "never"), np.array([1, 6, 0]), np.array([4, 8, 0]), np.array([2, 12, 0]))
    often, rare, never, total = score_table(ScoreTable("class", counts, "texts")).rows
    assert often[:4] == ("often", "0.750", "0.500", "0.600")
    assert rare[4:] == ("2", "4")
    assert never[1:4] == ("–", "–", "–")
    assert (total[0], *total[4:]) == ("all", "14", "12")


def test_a_long_table_says_what_it_leaves_out():
    ones = np.ones(MOST_SCORES + 3, np.int64)
    scores = ScoreTable("tag", LabelCounts(tuple(map(str, range(MOST_SCORES + 3))), ones, ones, ones), "texts")
    table = score_table(scores)
    assert len(table.rows) == MOST_SCORES + 1
    assert table.note.startswith("3 rarer rows")
    assert table.rows[-1][4] == f"{MOST_SCORES + 3}"
