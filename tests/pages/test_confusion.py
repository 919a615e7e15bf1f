"""A confusion table on the page: its figures, many classes in one row, odd names, and classes that never occur."""

import dataclasses

import numpy as np
from sklearn import metrics

from glasshouse.pages.confusion_table import MOST_CLASSES, table
from glasshouse.pages.report_page import Confusion, Mistake, render
from tests.refusals import refused

from . import example
from .test_report import Outline


def test_its_margins_are_those_of_scikit_learn():
    chance = np.random.default_rng(0)
    truth, answers = chance.integers(0, 3, 400), chance.integers(0, 3, 400)
    made = table(Confusion(("a", "b", "c"), metrics.confusion_matrix(truth, answers), "400 texts"))
    recall = metrics.recall_score(truth, answers, average=None)
    precision = metrics.precision_score(truth, answers, average=None)
    assert [row.recall for row in made.rows] == [f"{share:.0%}".replace("%", " %") for share in recall]
    assert list(made.precision) == [f"{share:.0%}".replace("%", " %") for share in precision]
    assert made.accuracy == f"{(truth == answers).mean():.0%}".replace("%", " %")
    assert [row.texts for row in made.rows] == [str((truth == each).sum()) for each in range(3)]


def test_little_is_not_nothing_and_what_never_occurs_has_no_share():
    made = table(Confusion(("a", "b", "c"), np.array([[999, 1, 0], [0, 0, 0], [0, 0, 5]]), "texts"))
    assert [cell.share for cell in made.rows[0].cells] == [">99 %", "<1 %", ""]
    assert made.rows[0].cells[1].title == "1 of 1,000 texts of a were taken for b"
    assert made.rows[1].recall == "–"
    assert made.precision == ("100 %", "0 %", "100 %")
    assert made.rows[2].cells[2].right


def test_of_many_classes_the_rarest_share_a_row():
    count = MOST_CLASSES + 5
    counts = np.diag(np.arange(1, count + 1))
    counts[0, 1] = 3  # both are rare: still a mistake
    made = table(Confusion(tuple(f"c{index}" for index in range(count)), counts, "texts"))
    assert len(made.rows) == MOST_CLASSES
    assert made.columns[-1] == "6 others"
    assert made.rows[-1].texts == str(sum(range(1, 7)) + 3)
    assert made.rows[-1].recall == f"{21 / 24:.0%}".replace("%", " %")
    assert made.rows[0].label == "c6"


def test_the_page_shows_it_and_escapes_its_names():
    confusion = Confusion((example.NASTY, "b"), np.array([[3, 1], [0, 4]]), "8 test texts")
    mistakes = (Mistake(example.NASTY, "b", example.NASTY, 0.9996),)
    page = render(dataclasses.replace(example.report(), confusion=confusion, mistakes=mistakes))
    outline = Outline(page)
    assert "alert(1)</script>" not in page
    assert "over 99.9 %" in outline.text
    assert "8 test texts" in outline.text
    assert "What it takes for what" not in render(example.report())
    with refused("shapes-differ"):
        Confusion(("a",), np.zeros((2, 2)), "texts")
