"""The word tokenizer: the ids of `tokenizers`, the vocabulary and its limits."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies

import tokenizers
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tokenizers import load, words
from glasshouse.tokenizers.words import Words
from tests.refusals import refused
from tests.tokenizers.difficult_texts import END_OF_TEXT, PROSE, texts
from tokenizers import models, pre_tokenizers, trainers


@pytest.fixture(scope="module")
def trained():
    return Words.train([PROSE], 40)


@pytest.fixture(scope="module")
def theirs(trained, tmp_path_factory):
    """The same tokenizer, run by the `tokenizers` package."""
    path = tmp_path_factory.mktemp("words") / "tokenizer.json"
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


@settings(max_examples=100)
@given(ids=strategies.lists(strategies.integers(0, 39), max_size=20))
def test_decoded_text_encodes_to_the_same_ids(trained, ids):
    assert trained.encode(trained.decode(ids)).tolist() == ids


def test_same_vocabulary_as_tokenizers():
    theirs = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    theirs.pre_tokenizer = pre_tokenizers.Whitespace()
    theirs.train_from_iterator([PROSE], trainers.WordLevelTrainer(vocab_size=40, special_tokens=["<unk>", END_OF_TEXT]))
    assert {text: id for id, text in enumerate(Words.train([PROSE], 40)._texts)} == theirs.get_vocab()


def test_the_order_of_the_vocabulary():
    ours = Words.train(["b a c, c", " a b d"], 6, specials=["<pad>"])
    assert ours.specials == {"<unk>": 0, END_OF_TEXT: 1, "<pad>": 2}
    assert (ours.unknown, ours.end_of_text, ours.vocabulary, ours.lossless) == (0, 1, 6, False)
    assert ours.encode("a b c d").tolist() == [3, 4, 5, 0]
    assert ours.decode([3, 0, 4]) == "a <unk> b"
    assert ours.token_bytes(3) == b" a"
    assert ours.token_bytes(2) == b"<pad>"


def test_the_vocabulary_is_an_upper_bound():
    assert Words.train(["a b a"], 1000).vocabulary == 4
    with refused(GlasshouseError, "vocabulary=2"):
        Words.train(["a b"], 2)


def test_a_special_token_that_is_a_word():
    ours = Words.train(["stop go stop"], 10, specials=["stop"])
    assert ours.encode("go stop").tolist() == [3, ours.specials["stop"]]
    assert ours.encode("go stop", specials=False).tolist() == [3, ours.unknown]


def test_training_does_not_depend_on_the_chunks():
    assert Words.train(iter(PROSE), 60)._ids == Words.train([PROSE], 60)._ids


def test_the_rarest_are_dropped(monkeypatch):
    monkeypatch.setattr(words, "MAX_COUNTED_WORDS", 4)
    assert Words.train(["a a b b c d e"], 9).vocabulary == 4


def test_bad_arguments(trained):
    with refused(GlasshouseError, "40"):
        trained.decode([40])
    with refused(DataError):
        trained.encode("\ud800")


def test_saved_and_loaded(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    again = load(tmp_path / "tokenizer.json")
    assert type(again) is Words
    assert (again._ids, again.specials, again.unknown) == (trained._ids, trained.specials, trained.unknown)
