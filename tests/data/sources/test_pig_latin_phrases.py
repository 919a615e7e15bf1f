"""Phrases and their Pig Latin: their lengths, and held-out phrases of held-out words."""

import pytest

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources import pig_latin, pig_latin_phrases
from glasshouse.data.sources.pig_latin_phrases import (
    LONGEST_WORD,
    PigLatinPhrases1,
    PigLatinPhrases2,
    PigLatinPhrases4,
    PigLatinPhrases8,
)


@pytest.mark.parametrize("source", [PigLatinPhrases1, PigLatinPhrases2, PigLatinPhrases4, PigLatinPhrases8])
def test_phrases_have_their_length_and_no_word_is_in_two_splits(source):
    words: dict[str, set[str]] = {}
    for split in SPLITS:
        documents = list(source().documents(split))
        phrases = [document.text.split(" ") for document in documents]
        assert {len(phrase) for phrase in phrases} == {source.words}
        assert len({document.text for document in documents}) == len(documents) <= pig_latin_phrases.SIZES[split]
        words[split] = {word for phrase in phrases for word in phrase}
        assert max(map(len, words[split])) == LONGEST_WORD
        assert all(document.fields["target"] == pig_latin.translate(document.text) for document in documents)
    assert not words["train"] & (words["validation"] | words["test"])
    assert not words["validation"] & words["test"]


def test_long_phrases_are_as_many_as_planned():
    assert len(list(PigLatinPhrases8().documents("train"))) == pig_latin_phrases.SIZES["train"]
