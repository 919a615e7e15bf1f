"""Baselines of tagging and translation, and the dictionary of IBM model 1."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.baselines import word_models
from glasshouse.baselines.field_baselines import Examples

TRAINING = Examples(["the run ends", "they run", "a run"], ["D N V", "P V", "D N"], np.arange(3), 3)


def test_a_word_has_its_commonest_tag_and_an_unknown_word_that_of_words_seen_once() -> None:
    rare = Examples(["x x", "y", "z"], ["A A", "B", "B"], np.arange(3), 3)
    assert word_models.tag_of_word(TRAINING)(0.0)(["run ends"]) == ["N V"]
    assert word_models.tag_of_word(rare)(0.0)(["x new"]) == ["A B"]


def test_the_commonest_tag_is_repeated_for_each_word() -> None:
    assert word_models.commonest_tag(TRAINING)(0.0)(["one two", "three"]) == ["D D", "D"]


def test_the_accuracy_is_over_words_and_the_mean_of_the_values() -> None:
    metrics, values = word_models.score_tags(["A B C", "A"], ["A B X", "X"])
    assert metrics == {"accuracy": 0.5}
    assert values["accuracy"].mean() == pytest.approx(0.5)


def test_words_are_translated_in_place_and_unknown_ones_stay() -> None:
    rows = [("ein Hund.", "a dog."), ("ein Haus!", "a house!"), ("der Hund", "the dog"), ("das Haus", "the house")]
    training = Examples([row[0] for row in rows], [row[1] for row in rows], np.arange(4), 4)
    translate = word_models.word_by_word(training)(0.0)
    assert translate(["ein Haus,  ein Zebra."]) == ["a house,  a Zebra."]
    assert word_models.copy(training)(0.0)(["ein Hund"]) == ["ein Hund"]


def test_translations_are_scored_as_those_of_a_run() -> None:
    references = ["the cat sat on the mat", "no"]
    metrics, values = word_models.score_translations(references, ["the cat sat on the mat", "yes"])
    assert set(metrics) == {"bleu", "chrf", "exact"}
    assert metrics["exact"] == 0.5
    assert values["exact"].tolist() == [1.0, 0.0]
    assert metrics["bleu"] > 50
    assert word_models.score_translations(["no"], ["no"])[0] == pytest.approx({"chrf": 100, "exact": 1})


SENTENCES = st.lists(st.sampled_from("abc"), max_size=4)


def plain_model(sources: list[list[str]], targets: list[list[str]], steps: int) -> dict[tuple[str, str], float]:
    """The definition: p(t | s), one sentence and one word after another."""
    probability: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for _ in range(steps):
        expected: dict[tuple[str, str], float] = defaultdict(float)
        for source, target in zip(sources, targets, strict=True):
            words = ["", *source]
            for translation in target:
                total = sum(probability[word, translation] for word in words)
                for word in words:
                    expected[word, translation] += probability[word, translation] / total
        sums: dict[str, float] = defaultdict(float)
        for (word, _), count in expected.items():
            sums[word] += count
        probability = defaultdict(float, {pair: count / sums[pair[0]] for pair, count in expected.items()})
    return probability


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6), st.integers(1, 4))
def test_each_word_gets_a_most_likely_translation_of_the_plain_algorithm(
    pairs: list[tuple[list[str], list[str]]], steps: int
) -> None:
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    if not any(targets):
        with pytest.raises(ValueError, match="no training pair"):
            word_models.dictionary(sources, targets, steps)
        return
    plain = plain_model(sources, targets, steps)
    translations = word_models.dictionary(sources, targets, steps)
    assert set(translations) == {word for word, _ in plain if word}
    for word, translation in translations.items():
        best = max(value for (source, _), value in plain.items() if source == word)
        assert plain[word, translation] == pytest.approx(best)


def test_words_of_sentences_in_another_order_are_aligned() -> None:
    pairs = [
        ("das kleine Haus", "house small the"),
        ("das Buch", "book the"),
        ("ein Buch", "book a"),
        ("das Haus", "house the"),
    ]
    translations = word_models.dictionary([a.split() for a, _ in pairs], [b.split() for _, b in pairs])
    assert translations == {"das": "the", "kleine": "small", "Haus": "house", "Buch": "book", "ein": "a"}
