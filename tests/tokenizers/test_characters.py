"""The character tokenizer: the ids of `tokenizers`, the vocabulary and its limits."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies

import tokenizers
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tokenizers import load
from glasshouse.tokenizers.characters import Characters
from tests.refusals import refused
from tests.tokenizers.difficult_texts import END_OF_TEXT, PROSE, texts


@pytest.fixture(scope="module")
def trained():
    return Characters.train([PROSE + END_OF_TEXT + "\x00"], 50)


@pytest.fixture(scope="module")
def theirs(trained, tmp_path_factory):
    """The same tokenizer, run by the `tokenizers` package."""
    path = tmp_path_factory.mktemp("characters") / "tokenizer.json"
    trained.save(path)
    return tokenizers.Tokenizer.from_file(str(path))


@settings(max_examples=300)
@given(text=texts)
def test_same_ids_as_tokenizers(trained, theirs, text):
    theirs.encode_special_tokens = False
    ids = trained.encode(text)
    assert ids.dtype == np.int32
    assert ids.tolist() == theirs.encode(text).ids
    assert trained.decode(ids) == theirs.decode(ids.tolist(), skip_special_tokens=False)
    theirs.encode_special_tokens = True
    assert trained.encode(text, specials=False).tolist() == theirs.encode(text).ids


@given(text=strategies.text(sorted(set(PROSE))))
def test_decoding_restores_known_characters(text):
    tokenizer = Characters.train([PROSE], 1000)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer.encode(text)) == len(text)


def test_the_order_of_the_vocabulary():
    ours = Characters.train(["bacca", "d" + END_OF_TEXT], 5)
    assert ours.specials == {"<unk>": 0, END_OF_TEXT: 1}
    assert (ours.unknown, ours.end_of_text, ours.vocabulary, ours.lossless) == (0, 1, 5, False)
    assert ours.encode("acbd").tolist() == [2, 3, 4, 0]
    assert ours.decode([2, 0, 1]) == f"a<unk>{END_OF_TEXT}"
    assert ours.token_bytes(3) == b"c"


def test_the_vocabulary_is_an_upper_bound():
    assert Characters.train(["aba"], 1000).vocabulary == 4
    with refused(GlasshouseError, "vocabulary=2"):
        Characters.train(["ab"], 2)


def test_a_special_token_of_one_character():
    ours = Characters.train(["a#b#"], 10, specials=["#"])
    assert ours.encode("a#").tolist() == [ours.encode("a")[0], ours.specials["#"]]
    assert ours.encode("#", specials=False).tolist() == [ours.unknown]


def test_bad_arguments(trained):
    with refused(GlasshouseError, "50"):
        trained.decode([50])
    with refused(DataError):
        trained.encode("\ud800")


def test_saved_and_loaded(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    again = load(tmp_path / "tokenizer.json")
    assert type(again) is Characters
    assert (again._texts, again.specials, again.unknown) == (trained._texts, trained.specials, trained.unknown)
