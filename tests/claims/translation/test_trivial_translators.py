"""Trivial translators: copying, appending `way`, and a trigram model of the target characters."""

import math

import pytest

from glasshouse.claims.translation import trivial_translators


def test_only_words_that_begin_with_a_vowel_are_right_with_way():
    assert trivial_translators.share_right([("appleway", "appleway"), ("shrinkway", "inkshray")]) == 0.5


def test_a_trigram_model_knows_the_frequent_endings_and_loses_on_unknown_ones():
    training = ["inkshray", "oatbay", "unray", "oppmay"] * 5
    likely = trivial_translators.trigram_loss(training, ["unray", "oatbay"])
    unlikely = trivial_translators.trigram_loss(training, ["yarnu", "yabtao"])
    assert 0 < likely < 0.6 < unlikely


def test_the_loss_counts_every_character_and_the_end_of_each_word():
    # After the first `a` there is only one continuation in each context, so nearly nothing is left to guess.
    assert trivial_translators.trigram_loss(["a"] * 1000, ["a", "a"]) == pytest.approx(0, abs=0.02)
    # Characters that never occurred are equally likely: the loss is at most that of guessing.
    assert trivial_translators.trigram_loss(["ab"] * 3, ["ab"]) < math.log(3)


def test_the_scores_of_a_source(word_lists):
    scores = trivial_translators.score_trivially("course-pig-latin-small")
    assert scores["copy"] == 0
    assert 0 <= scores["way"] <= 1
    assert 0 < scores["trigram"] < math.log(30)
