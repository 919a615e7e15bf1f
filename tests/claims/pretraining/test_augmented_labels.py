"""Few labelled texts and their copies: what is drawn, what is replaced, and which classifier is chosen."""

import random
from collections import Counter

from glasshouse.claims.pretraining import augmented_labels
from glasshouse.claims.pretraining.augmented_labels import SHARE, TextSplits
from glasshouse.inspection.labelled_texts import LabelledTexts

ROWS = LabelledTexts(("a 1", "a 2", "a 3", "b 1", "b 2"), ("a", "a", "a", "b", "b"))


def test_as_many_texts_of_each_class_are_drawn_as_there_are():
    drawn = augmented_labels.draw_labels(ROWS, 2, random.Random(0))
    assert Counter(drawn.labels) == {"a": 2, "b": 2}
    assert all(text.startswith(label) for text, label in zip(drawn.texts, drawn.labels, strict=True))
    assert Counter(augmented_labels.draw_labels(ROWS, 9, random.Random(0)).labels) == {"a": 3, "b": 2}
    draws = {augmented_labels.draw_labels(ROWS, 2, random.Random(seed)).texts for seed in range(9)}
    assert len(draws) > 1


def test_copies_have_the_label_of_their_text():
    rows = augmented_labels.with_copies(LabelledTexts(("x", "y"), ("a", "b")), [["x1", "x2"], ["y1"]])
    assert rows == LabelledTexts(("x", "x1", "x2", "y", "y1"), ("a", "a", "a", "b", "b"))


def test_a_share_of_the_words_is_replaced_and_nothing_else():
    text = "one, two  three! four five six seven eight nine ten (eleven) twelve thirteen fourteen fifteen sixteen " * 2
    replaced = augmented_labels.replace_words(text, ["NEW"], random.Random(1))
    words = augmented_labels.WORD.findall(text)
    changed = augmented_labels.WORD.findall(replaced)
    assert len(changed) == len(words)
    assert changed.count("NEW") == round(SHARE * len(words))
    assert all(new in (old, "NEW") for old, new in zip(words, changed, strict=True))
    assert augmented_labels.WORD.sub("", replaced) == augmented_labels.WORD.sub("", text)
    assert augmented_labels.replace_words("hello", ["NEW"], random.Random(0)) == "NEW", "at least one word"
    assert augmented_labels.replace_words("?!", ["NEW"], random.Random(0)) == "?!"


def test_a_regression_over_words_learns_which_word_decides():
    training = LabelledTexts(("good day", "bad day", "good night", "bad night") * 5, ("yes", "no", "yes", "no") * 5)
    test = LabelledTexts(("good morning", "bad morning", "bad luck"), ("yes", "no", "yes"))
    splits = TextSplits(training, training, test)
    vectors = augmented_labels.word_vectors(training.texts)
    assert vectors(["good good day"]).toarray().tolist() == [[0, 1, 2, 0]]
    assert augmented_labels.hits(vectors, training, splits) == [1.0, 1.0, 0.0]


def test_validation_texts_choose_the_regularisation():
    """One rare word is right in training and wrong in validation: weak regularisation would believe it."""
    training = LabelledTexts(("x",) * 9 + ("x odd",), ("a",) * 9 + ("b",))
    validation = LabelledTexts(("x odd",) * 5, ("a",) * 5)
    splits = TextSplits(training, validation, LabelledTexts(("x odd",), ("a",)))
    vectors = augmented_labels.word_vectors(training.texts)
    assert augmented_labels.hits(vectors, training, splits) == [1.0]
    other = TextSplits(training, LabelledTexts(("x odd",) * 5, ("b",) * 5), LabelledTexts(("x odd",), ("b",)))
    assert augmented_labels.hits(vectors, training, other) == [1.0]
