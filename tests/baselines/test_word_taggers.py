"""Baselines of tagging: each word has its commonest tag, and an unknown word that of rare words."""

import numpy as np
import pytest

from glasshouse.baselines import word_taggers
from glasshouse.baselines.field_baselines import Examples

TRAINING = Examples(["the run ends", "they run", "a run"], ["D N V", "P V", "D N"], np.arange(3), 3)


def test_a_word_has_its_commonest_tag_and_an_unknown_word_that_of_words_seen_once() -> None:
    rare = Examples(["x x", "y", "z"], ["A A", "B", "B"], np.arange(3), 3)
    assert word_taggers.tag_of_word(TRAINING)(0.0)(["run ends"]) == ["N V"]
    assert word_taggers.tag_of_word(rare)(0.0)(["x new"]) == ["A B"]


def test_the_commonest_tag_is_repeated_for_each_word() -> None:
    assert word_taggers.commonest_tag(TRAINING)(0.0)(["one two", "three"]) == ["D D", "D"]


def test_the_accuracy_is_over_words_and_the_mean_of_the_values() -> None:
    metrics, values = word_taggers.score_tags(["A B C", "A"], ["A B X", "X"])
    assert metrics == {"accuracy": 0.5}
    assert values["accuracy"].mean() == pytest.approx(0.5)


def test_no_training_text_is_refused() -> None:
    with pytest.raises(ValueError, match="no training texts"):
        word_taggers.commonest_tag(Examples([], [], np.arange(0), 0))
