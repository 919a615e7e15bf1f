"""The errors of a classifier: its confusion matrix, and its most confident mistakes first."""

import numpy as np
import pytest

import glasshouse
from glasshouse.inspection import confusion, held_out_texts, run_report
from glasshouse.pages.report_page import render
from glasshouse.tasks.classify import Classify

from .labelled_rows import WORDS


def test_a_report_has_the_confusion_matrix(classifier, labelled_file, monkeypatch):
    errors = confusion.collect(classifier)
    assert errors.confusion.labels == ("bird", "fruit", "tool")
    assert errors.confusion.counts.sum() == 15
    accuracy = np.trace(errors.confusion.counts) / 15
    assert accuracy == pytest.approx(classifier.facts["outcome"]["test"]["accuracy"])
    page = classifier.folder.report_file.read_text()
    assert "Confusion matrix" in page
    assert "15 test texts" in page
    monkeypatch.setattr(held_out_texts, "MOST_TEXTS", 7)
    assert confusion.collect(classifier).confusion.where == "7 of 15 test texts"
    labelled_file.write_text(labelled_file.read_text() + "bird\towl\n")
    assert "has changed since" in confusion.collect(classifier).notes[0]
    labelled_file.unlink()
    assert "cannot read" in confusion.collect(classifier).notes[0]
    glasshouse.report("tiny", device="cpu")
    assert "no confusion matrix" in classifier.folder.report_file.read_text()


def test_the_most_confident_mistakes_come_first(classifier, monkeypatch):
    real = Classify.probabilities

    def wrong_probabilities(self, model, shard, examples, batch):
        """Every text is classified as the next class, a later text with higher confidence."""
        truth = np.asarray(shard.labels[examples])
        probabilities = np.full((len(examples), 3), 0.1)
        probabilities[np.arange(len(examples)), (truth + 1) % 3] = 0.5 + np.arange(len(examples)) / 100
        assert real(self, model, shard, examples, batch).shape == probabilities.shape
        return probabilities

    monkeypatch.setattr(Classify, "probabilities", wrong_probabilities)
    errors = confusion.collect(classifier)
    assert [mistake.probability for mistake in errors.mistakes] == pytest.approx([0.64, 0.63, 0.62, 0.61, 0.60])
    assert all(mistake.text.split()[0] in WORDS[mistake.truth] for mistake in errors.mistakes)
    assert errors.mistakes[0].text in render(run_report.collect(classifier))
