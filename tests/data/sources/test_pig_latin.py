"""Pig Latin: the rule, the words and phrases that are held out, and the lists of the course."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources import pig_latin
from glasshouse.data.sources.pig_latin import (
    LONGEST,
    LONGEST_IN_PHRASES,
    SMALL,
    CoursePigLatin,
    CoursePigLatinSmall,
    PigLatin,
    PigLatinPhrases1,
    PigLatinPhrases2,
    PigLatinPhrases4,
    PigLatinPhrases8,
    PigLatinSmall,
    translate,
)
from glasshouse.specs.errors import DataError
from tests.data.sources.source_access import data_folder, split_sizes, texts
from tests.needs import needs_data
from tests.refusals import refused

words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("apple", "appleway"),
        ("the", "ethay"),
        ("shrink", "inkshray"),
        ("quick", "ickquay"),
        ("square", "aresquay"),
        ("yellow", "ellowyay"),
        ("rhythm", "ythmrhay"),
        ("by", "ybay"),
        ("well-being", "ellway-eingbay"),
        ("don't", "onday'tay"),
        ("The air conditioning is working.", "ethay airway onditioningcay isway orkingway."),
        ("1789", "1789"),
        ("", ""),
    ],
)
def test_pig_latin(text, translation):
    assert translate(text) == translation


@given(words)
def test_pig_latin_moves_letters_and_adds_an_ending(word):
    translation = translate(word)
    vowel = word[0] in "aeiou"
    assert translation.endswith("way" if vowel else "ay")
    stem = translation[: -3 if vowel else -2]
    assert Counter(stem) == Counter(word)
    assert stem in word + word, "a rotation"


@given(st.lists(words, min_size=1, max_size=5), st.sampled_from([" ", "-", "'", ", "]))
def test_pig_latin_translates_every_part_separately(parts, separator):
    assert translate(separator.join(parts)) == separator.join(map(translate, parts))


@needs_data
@pytest.mark.parametrize("size", ["small", "large"])
def test_pig_latin_agrees_with_the_published_pairs(size):
    lines = (data_folder() / "piglatin" / f"pig_latin_{size}.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split() for line in lines if len(line.split()) == 2]
    differing = [(word, published, translate(word)) for word, published in pairs if translate(word) != published]
    reasons = Counter(
        "y first" if re.search(r"(^|[-'])y", word) else "qu parted" if "qu" in word else "spelled out"
        for word, *_ in differing
    )
    print(f"{size}: {1 - len(differing) / len(pairs):.2%} of {len(pairs)} pairs; the others: {dict(reasons)}")
    assert len(differing) < 0.01 * len(pairs)
    assert reasons["spelled out"] <= 2, "such as `mp`, pronounced letter by letter"


def test_both_pig_latin_sets_hold_out_the_same_words():
    large, small = PigLatin(), PigLatinSmall()
    assert split_sizes(small) == (SMALL * 8 // 10, SMALL // 10, SMALL // 10)
    assert split_sizes(large)[0] > 3 * split_sizes(small)[0]
    for split in ("validation", "test"):
        assert set(texts(small, split)) == set(texts(large, split))
    assert set(texts(small, "train")) < set(texts(large, "train"))
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", word) and len(word) <= LONGEST for word in texts(large, "train"))


@pytest.mark.parametrize("source", [PigLatinPhrases1, PigLatinPhrases2, PigLatinPhrases4, PigLatinPhrases8])
def test_phrases_have_their_length_and_no_word_is_in_two_splits(source):
    words: dict[str, set[str]] = {}
    for split in SPLITS:
        documents = list(source().documents(split))
        phrases = [document.text.split(" ") for document in documents]
        assert {len(phrase) for phrase in phrases} == {source.words}
        assert len({document.text for document in documents}) == len(documents) <= pig_latin.SIZES[split]
        words[split] = {word for phrase in phrases for word in phrase}
        assert max(map(len, words[split])) == LONGEST_IN_PHRASES
        assert all(document.fields["target"] == pig_latin.translate(document.text) for document in documents)
    assert not words["train"] & (words["validation"] | words["test"])
    assert not words["validation"] & words["test"]


def test_long_phrases_are_as_many_as_planned():
    assert len(list(PigLatinPhrases8().documents("train"))) == pig_latin.SIZES["train"]


SMALL_FILE = "".join(
    f"{word} {word}way\n" for word in ("apple", "egg", "ice", "oak", "urn", "ace", "elm", "ink", "oar", "use")
)


def pairs(source, split):
    return [(document.text, document.fields["target"]) for document in source.documents(split)]


def write_lists(folder, small, large):
    (folder / "piglatin").mkdir()
    (folder / "piglatin" / "pig_latin_small.txt").write_text(small, encoding="utf-8")
    (folder / "piglatin" / "pig_latin_large.txt").write_text(large, encoding="utf-8")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_DATA", str(tmp_path))
    return tmp_path


def test_no_training_list_contains_a_held_out_word(data):
    alternatives = SMALL_FILE.replace("way", "yay")
    write_lists(
        data, SMALL_FILE + "don't onday'tay\nego egoway\nego egoway\n", SMALL_FILE + alternatives + "is isway\n \nis isway\n"
    )
    large, small = CoursePigLatin(), CoursePigLatinSmall()
    assert split_sizes(small) == (9, 1, 1)
    for split in ("validation", "test"):
        assert pairs(small, split) == pairs(large, split)
        held_out = {word for word, _ in pairs(small, split)}
        assert all(word not in held_out for source in (small, large) for word, _ in pairs(source, "train"))
    words = {word for split in SPLITS for word, _ in pairs(small, split)}
    assert words == {*SMALL_FILE.split()[::2], "ego"}
    # Both translations of the words of the small list that are in the large one (ego is not), and one new word.
    kept = [word for word, _ in pairs(small, "train") if word != "ego"]
    assert len(pairs(large, "train")) == 2 * len(kept) + 1
    assert large.fingerprint() != small.fingerprint()


def test_a_list_without_pairs_is_refused(data):
    with refused(DataError, "course-pig-latin-small", "pig_latin_small.txt"):
        list(CoursePigLatinSmall().documents("train"))
    write_lists(data, "APPLE, appleway\n", SMALL_FILE)
    with refused(DataError, "pig_latin_small.txt"):
        list(CoursePigLatin().documents("train"))


@needs_data
def test_the_published_lists_have_their_published_sizes():
    large, small = CoursePigLatin(), CoursePigLatinSmall()
    assert split_sizes(small) == (2558, 320, 320)
    # Of the 22,402 published pairs, two are second translations of held-out words.
    assert split_sizes(large) == (22402 - 2 - 640, 320, 320)
    for split in ("validation", "test"):
        assert pairs(small, split) == pairs(large, split)
    held_out = {word for split in ("validation", "test") for word, _ in pairs(small, split)}
    assert not held_out & {word for word, _ in pairs(large, "train")}
    assert all(re.fullmatch("[a-z-]+", word + target) for word, target in pairs(large, "train"))
    assert set(pairs(small, "train")) - set(pairs(large, "train")) <= {("quiet", "ietquay"), ("questions", "estionsquay")}
