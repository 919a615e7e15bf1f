"""Pig Latin: the rule, the published pairs, and the words that both sets hold out."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data.sources.pig_latin import LONGEST, SMALL, PigLatin, PigLatinSmall, translate
from tests.data.sources.source_access import data_folder, split_sizes, texts
from tests.needs import needs_data

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
