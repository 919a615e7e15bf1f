"""IBM model 1: it is the plain algorithm, and finds the words that belong together in sentences of several words."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.baselines import word_alignment

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
            word_alignment.dictionary(sources, targets, steps)
        return
    plain = plain_model(sources, targets, steps)
    translations = word_alignment.dictionary(sources, targets, steps)
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
    translations = word_alignment.dictionary([a.split() for a, _ in pairs], [b.split() for _, b in pairs])
    assert translations == {"das": "the", "kleine": "small", "Haus": "house", "Buch": "book", "ein": "a"}
