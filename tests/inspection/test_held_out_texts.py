"""The texts of a report: the errors of a classifier, most confident first; a text that the data repeat is shown once."""

import json
import shutil

import numpy as np
import pytest

import glasshouse
from glasshouse.inspection import held_out_texts, run_report
from glasshouse.pages.report_page import render
from glasshouse.records import item_values

from .labelled_rows import WORDS


def test_a_report_has_the_confusion_matrix(classifier, labelled_file):
    errors = held_out_texts.confusion(classifier)
    assert errors.confusion.labels == ("bird", "fruit", "tool")
    assert np.sum(errors.confusion.counts) == 15
    accuracy = np.trace(errors.confusion.counts) / 15
    assert accuracy == pytest.approx(classifier.facts["outcome"]["test"]["accuracy"])
    page = classifier.folder.report_file.read_text()
    assert "Confusion matrix" in page
    assert "15 test texts" in page
    stored = json.loads(classifier.folder.confusion_file.read_text())
    assert stored["confusion"]["counts"] == errors.confusion.counts
    classifier.folder.confusion_file.unlink()
    labelled_file.write_text(labelled_file.read_text() + "bird\towl\n")
    changed = held_out_texts.confusion(classifier)
    assert changed.confusion.counts == errors.confusion.counts
    assert "has changed since" in changed.notes[0]
    labelled_file.unlink()
    assert "cannot read" in held_out_texts.confusion(classifier).notes[0]


def test_a_run_without_stored_predictions_needs_its_data(classifier, labelled_file):
    before = held_out_texts.confusion(classifier)
    classifier.folder.confusion_file.unlink()
    shutil.rmtree(classifier.folder.path / "item_values")
    again = held_out_texts.confusion(classifier)
    assert again.confusion.counts == before.confusion.counts
    classifier.folder.confusion_file.unlink()
    labelled_file.unlink()
    glasshouse.report("tiny", device="cpu")
    assert "no confusion matrix" in classifier.folder.report_file.read_text()


def test_what_is_stored_for_other_weights_is_not_shown(classifier):
    stored = json.loads(classifier.folder.confusion_file.read_text())
    stored["confusion"]["where"] = "texts of an earlier step"
    classifier.folder.confusion_file.write_text(json.dumps(stored))
    assert held_out_texts.confusion(classifier).confusion.where == "texts of an earlier step"
    classifier.folder.confusion_file.write_text(json.dumps({**stored, "step": stored["step"] - 1}))
    assert held_out_texts.confusion(classifier).confusion.where == "15 test texts"


def test_the_most_confident_mistakes_come_first(classifier):
    """Every text is classified as the next class, a later text with higher confidence."""
    values = item_values.read(classifier.folder, "test")
    count = len(values["truth"])
    wrong = {**values, "prediction": (values["truth"] + 1) % 3, "probability": 0.5 + np.arange(count) / 100}
    item_values.write(classifier.folder, "test", wrong)
    classifier.folder.confusion_file.unlink()
    errors = held_out_texts.confusion(classifier)
    assert [row[3] for row in errors.errors.rows] == ["64.0 %", "63.0 %", "62.0 %", "61.0 %", "60.0 %"]
    assert all(text.split()[0] in WORDS[truth] for text, truth, *_ in errors.errors.rows)
    assert errors.errors.rows[0][0] in render(run_report.collect(classifier))


def test_a_repeated_text_is_shown_once() -> None:
    texts = ["a", "b", "a", "c", "b", "d"]
    assert held_out_texts.distinct(range(6), texts.__getitem__, 3) == [0, 1, 3]
    assert held_out_texts.distinct([5, 4, 1, 0], texts.__getitem__, 9) == [5, 4, 0]
    assert held_out_texts.distinct([], texts.__getitem__, 3) == []


def half(right):
    return sorted(held_out_texts.wrong_and_right(right, 12))


def test_half_of_the_shown_predictions_are_wrong_if_enough_are_wrong() -> None:
    right = np.zeros(200, bool)
    assert half(right) == list(range(12))
    right[2::2] = True
    assert half(right) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]
    assert (~right[half(right)]).sum() == 6
    right[:] = True
    right[150] = False
    assert half(right) == [*range(11), 150]
    assert half(np.array([True, False])) == [0, 1]
