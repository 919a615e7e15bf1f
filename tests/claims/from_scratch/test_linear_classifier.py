"""Trivial opponents of a classifier: the commonest class, and a linear model that sees words and word pairs."""

from glasshouse.claims.from_scratch import linear_classifier

TRAINING = [("good day", "a"), ("good night", "a"), ("bad day", "b"), ("good good day", "a"), ("bad night", "b")] * 4


def test_the_commonest_class_of_the_training_texts_is_always_answered():
    test = [("good day", "a"), ("bad day", "b"), ("no such word", "b")]
    assert linear_classifier.commonest_class(TRAINING, test) == [1.0, 0.0, 0.0]


def test_a_linear_model_learns_from_words():
    test = [("good", "a"), ("bad", "b"), ("bad", "a")]
    assert linear_classifier.word_pairs(TRAINING, test) == [1.0, 1.0, 0.0]


def test_a_linear_model_learns_from_word_pairs():
    # Every word occurs equally often in both classes; only the pairs differ.
    training = [("left up right down", "a"), ("left down right up", "b")] * 10
    assert linear_classifier.word_pairs(training, [("left up", "a"), ("right up", "b")]) == [1.0, 1.0]
