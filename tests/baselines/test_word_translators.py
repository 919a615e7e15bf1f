"""Baselines of translation: copying, and a dictionary that keeps the spacing and copies unknown words."""

import numpy as np
import pytest

from glasshouse.baselines import word_translators
from glasshouse.baselines.field_baselines import Examples


def test_words_are_translated_in_place_and_unknown_ones_stay() -> None:
    rows = [("ein Hund.", "a dog."), ("ein Haus!", "a house!"), ("der Hund", "the dog"), ("das Haus", "the house")]
    training = Examples([row[0] for row in rows], [row[1] for row in rows], np.arange(4), 4)
    translate = word_translators.word_by_word(training)(0.0)
    assert translate(["ein Haus,  ein Zebra."]) == ["a house,  a Zebra."]
    assert word_translators.copy(training)(0.0)(["ein Hund"]) == ["ein Hund"]


def test_translations_are_scored_as_those_of_a_run() -> None:
    references = ["the cat sat on the mat", "no"]
    metrics, values = word_translators.score_translations(references, ["the cat sat on the mat", "yes"])
    assert set(metrics) == {"bleu", "chrf", "exact"}
    assert metrics["exact"] == 0.5
    assert values["exact"].tolist() == [1.0, 0.0]
    assert metrics["bleu"] > 50
    assert word_translators.score_translations(["no"], ["no"])[0] == pytest.approx({"chrf": 100, "exact": 1})
