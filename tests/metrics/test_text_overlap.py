"""Overlap of texts: bounds, symmetry, known values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.metrics.text_overlap import (
    content_stems,
    loop_share,
    ngram_overlap,
    repeated_words,
    stem,
    word_places,
    words,
)

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "the", "cat's", "İ", "ß"]), max_size=12).map(" ".join)


@given(TEXTS, TEXTS)
def test_overlaps_are_symmetric_shares_and_one_for_the_same_text(first: str, second: str) -> None:
    assert 0 <= ngram_overlap(first, second) == ngram_overlap(second, first) <= 1
    assert ngram_overlap(first, first) == 1
    assert 0 <= loop_share(first) < 1
    assert len(words(first)) == len(word_places(first)) == len(repeated_words(first, [second], 2))


def test_known_overlaps() -> None:
    # Trigrams: 3 and 3, of which 2 are shared.
    assert ngram_overlap("the cat sat on it", "The cat sat on, him!") == pytest.approx(2 / 4)
    assert ngram_overlap("one two three", "four five six") == 0
    assert ngram_overlap("yes", "yes") == 1
    assert ngram_overlap("", "yes") == 0


def test_words_and_stems() -> None:
    assert words("Self-driving cars don\u2019t STOP.") == ("self", "driving", "cars", "don't", "stop")
    assert stem("cars") == stem("car") == "car" != stem("care")
    assert stem("driving") == stem("drive") == stem("drives")
    assert stem("policies") == stem("policy")
    assert stem("stopping") == stem("stopped") == stem("stops")
    assert stem("bus") == "bus"
    assert stem("grass") == "grass"
    assert content_stems("The cars that do not stop") == ("car", "stop")


def test_repeated_words_are_those_in_a_shared_phrase() -> None:
    marked = repeated_words("so the cat sat on it", ["a dog and the cat sat", "on it"], 3)
    assert marked == [False, True, True, True, False, False]
    assert repeated_words("short", [], 3) == [False]
