"""Characters: the ids of `tokenizers`, and what is lost."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from odd_texts import MARK, PROSE, texts
from tests.refusals import refused

import tokenizers
from glasshouse.tokenizers import load
from glasshouse.tokenizers.characters import Characters


@pytest.fixture(scope="module")
def trained():
    return Characters.train([PROSE + MARK + "\x00"], 50)


@pytest.fixture(scope="module")
def elsewhere(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("characters") / "tokenizer.json"
    trained.save(path)
    return tokenizers.Tokenizer.from_file(str(path))


@settings(max_examples=300, deadline=None)
@given(text=texts)
def test_same_ids_as_tokenizers(trained, elsewhere, text):
    elsewhere.encode_special_tokens = False
    ids = trained.encode(text)
    assert ids.dtype == np.int32
    assert ids.tolist() == elsewhere.encode(text).ids
    assert trained.decode(ids) == elsewhere.decode(ids.tolist(), skip_special_tokens=False)
    elsewhere.encode_special_tokens = True
    assert trained.encode(text, specials=False).tolist() == elsewhere.encode(text).ids


@given(text=strategies.text(sorted(set(PROSE))))
def test_known_characters_come_back(text):
    everything = Characters.train([PROSE], 1000)
    assert everything.decode(everything.encode(text)) == text
    assert len(everything.encode(text)) == len(text)


def test_the_vocabulary_in_order():
    ours = Characters.train(["bacca", "d" + MARK], 5)
    assert ours.specials == {"<unk>": 0, MARK: 1}
    assert (ours.unknown, ours.end_of_text, ours.vocabulary, ours.lossless) == (0, 1, 5, False)
    assert ours.encode("acbd").tolist() == [2, 3, 4, 0]
    assert ours.decode([2, 0, 1]) == f"a<unk>{MARK}"
    assert ours.token_bytes(3) == b"c"


def test_the_vocabulary_is_an_upper_bound():
    assert Characters.train(["aba"], 1000).vocabulary == 4
    with refused("vocabulary-too-small", "vocabulary=2"):
        Characters.train(["ab"], 2)


def test_a_special_token_of_one_character():
    ours = Characters.train(["a#b#"], 10, specials=["#"])
    assert ours.encode("a#").tolist() == [ours.encode("a")[0], ours.specials["#"]]
    assert ours.encode("#", specials=False).tolist() == [ours.unknown]


def test_bad_arguments(trained):
    with refused("unknown-token-id", "50"):
        trained.decode([50])
    with refused("lone-surrogate"):
        trained.encode("\ud800")


def test_saved_and_loaded(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    again = load(tmp_path / "tokenizer.json")
    assert type(again) is Characters
    assert (again._texts, again.specials, again.unknown) == (trained._texts, trained.specials, trained.unknown)
