"""The course's Pig Latin lists: the published pairs, and the words that both lists hold out."""

import re

import pytest

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.course_pig_latin import CoursePigLatin, CoursePigLatinSmall
from glasshouse.specs.errors import DataError
from tests.data.sources.source_access import split_sizes
from tests.needs import needs_data
from tests.refusals import refused

SMALL = "".join(f"{word} {word}way\n" for word in ("apple", "egg", "ice", "oak", "urn", "ace", "elm", "ink", "oar", "use"))


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
    alternatives = SMALL.replace("way", "yay")
    write_lists(data, SMALL + "don't onday'tay\nego egoway\nego egoway\n", SMALL + alternatives + "is isway\n \nis isway\n")
    large, small = CoursePigLatin(), CoursePigLatinSmall()
    assert split_sizes(small) == (9, 1, 1)
    for split in ("validation", "test"):
        assert pairs(small, split) == pairs(large, split)
        held_out = {word for word, _ in pairs(small, split)}
        assert all(word not in held_out for source in (small, large) for word, _ in pairs(source, "train"))
    words = {word for split in SPLITS for word, _ in pairs(small, split)}
    assert words == {*SMALL.split()[::2], "ego"}
    # Both translations of the words of the small list that are in the large one (ego is not), and one new word.
    kept = [word for word, _ in pairs(small, "train") if word != "ego"]
    assert len(pairs(large, "train")) == 2 * len(kept) + 1
    assert large.fingerprint() != small.fingerprint()


def test_a_list_without_pairs_is_refused(data):
    with refused(DataError, "course-pig-latin-small", "pig_latin_small.txt"):
        list(CoursePigLatinSmall().documents("train"))
    write_lists(data, "APPLE, appleway\n", SMALL)
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
