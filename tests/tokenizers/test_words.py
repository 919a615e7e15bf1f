"""Words: the ids of `tokenizers`, and what is lost."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from odd_texts import MARK, PROSE, texts
from tests.refusals import refused

import tokenizers
from glasshouse.tokenizers import load, words
from glasshouse.tokenizers.words import Words
from tokenizers import models, pre_tokenizers, trainers


@pytest.fixture(scope="module")
def trained():
    return Words.train([PROSE], 40)


@pytest.fixture(scope="module")
def elsewhere(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "tokenizer.json"
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


@settings(max_examples=100, deadline=None)
@given(ids=strategies.lists(strategies.integers(0, 39), max_size=20))
def test_decoded_text_encodes_to_the_same_ids(trained, ids):
    assert trained.encode(trained.decode(ids)).tolist() == ids


def test_same_vocabulary_as_tokenizers():
    other = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    other.pre_tokenizer = pre_tokenizers.Whitespace()
    other.train_from_iterator([PROSE], trainers.WordLevelTrainer(vocab_size=40, special_tokens=["<unk>", MARK]))
    assert {text: id for id, text in enumerate(Words.train([PROSE], 40)._texts)} == other.get_vocab()


def test_the_vocabulary_in_order():
    ours = Words.train(["b a c, c", " a b d"], 6, specials=["<pad>"])
    assert ours.specials == {"<unk>": 0, MARK: 1, "<pad>": 2}
    assert (ours.unknown, ours.end_of_text, ours.vocabulary, ours.lossless) == (0, 1, 6, False)
    assert ours.encode("a b c d").tolist() == [3, 4, 5, 0]
    assert ours.decode([3, 0, 4]) == "a <unk> b"
    assert ours.token_bytes(3) == b" a"
    assert ours.token_bytes(2) == b"<pad>"


def test_the_vocabulary_is_an_upper_bound():
    assert Words.train(["a b a"], 1000).vocabulary == 4
    with refused("vocabulary-too-small", "vocabulary=2"):
        Words.train(["a b"], 2)


def test_a_special_token_that_is_a_word():
    ours = Words.train(["stop go stop"], 10, specials=["stop"])
    assert ours.encode("go stop").tolist() == [3, ours.specials["stop"]]
    assert ours.encode("go stop", specials=False).tolist() == [3, ours.unknown]


def test_chunks_do_not_matter():
    assert Words.train(iter(PROSE), 60)._ids == Words.train([PROSE], 60)._ids


def test_the_rarest_are_dropped(monkeypatch):
    monkeypatch.setattr(words, "MOST_WORDS", 4)
    assert Words.train(["a a b b c d e"], 9).vocabulary == 4


def test_bad_arguments(trained):
    with refused("unknown-token-id", "40"):
        trained.decode([40])
    with refused("lone-surrogate"):
        trained.encode("\ud800")


def test_saved_and_loaded(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    again = load(tmp_path / "tokenizer.json")
    assert type(again) is Words
    assert (again._ids, again.specials, again.unknown) == (trained._ids, trained.specials, trained.unknown)
