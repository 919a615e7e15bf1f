"""The tokenizers of words and of characters: the ids of `tokenizers`, the vocabulary and its limits."""

import numpy as np
import pytest
from hypothesis import given, strategies

import tokenizers
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tokenizers import load, words
from glasshouse.tokenizers.words import Characters, Words
from tests.properties import examples
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


@examples(300)
@given(text=texts)
def test_same_ids_as_tokenizers(trained, theirs, text):
    theirs.encode_special_tokens = False
    ids = trained.encode(text)
    assert ids.dtype == np.int32
    assert ids.tolist() == theirs.encode(text).ids
    assert trained.decode(ids) == theirs.decode(ids.tolist(), skip_special_tokens=False)
    theirs.encode_special_tokens = True
    assert trained.encode(text, specials=False).tolist() == theirs.encode(text).ids


@examples(100)
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
    assert (ours.unknown, ours.end_of_text, ours.vocabulary) == (0, 1, 6)
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


@pytest.fixture(scope="module")
def trained_characters():
    return Characters.train([PROSE + END_OF_TEXT + "\x00"], 50)


@pytest.fixture(scope="module")
def their_characters(trained_characters, tmp_path_factory):
    """The same tokenizer, run by the `tokenizers` package."""
    path = tmp_path_factory.mktemp("characters") / "tokenizer.json"
    trained_characters.save(path)
    return tokenizers.Tokenizer.from_file(str(path))


@examples(300)
@given(text=texts)
def test_same_ids_as_tokenizers_of_characters(trained_characters, their_characters, text):
    their_characters.encode_special_tokens = False
    ids = trained_characters.encode(text)
    assert ids.dtype == np.int32
    assert ids.tolist() == their_characters.encode(text).ids
    assert trained_characters.decode(ids) == their_characters.decode(ids.tolist(), skip_special_tokens=False)
    their_characters.encode_special_tokens = True
    assert trained_characters.encode(text, specials=False).tolist() == their_characters.encode(text).ids


@given(text=strategies.text(sorted(set(PROSE))))
def test_decoding_restores_known_characters(text):
    tokenizer = Characters.train([PROSE], 1000)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer.encode(text)) == len(text)


def test_the_order_of_the_vocabulary_of_characters():
    ours = Characters.train(["bacca", "d" + END_OF_TEXT], 5)
    assert ours.specials == {"<unk>": 0, END_OF_TEXT: 1}
    assert (ours.unknown, ours.end_of_text, ours.vocabulary) == (0, 1, 5)
    assert ours.encode("acbd").tolist() == [2, 3, 4, 0]
    assert ours.decode([2, 0, 1]) == f"a<unk>{END_OF_TEXT}"
    assert ours.token_bytes(3) == b"c"


def test_the_vocabulary_is_an_upper_bound_of_characters():
    assert Characters.train(["aba"], 1000).vocabulary == 4
    with refused(GlasshouseError, "vocabulary=2"):
        Characters.train(["ab"], 2)


def test_a_special_token_of_one_character():
    ours = Characters.train(["a#b#"], 10, specials=["#"])
    assert ours.encode("a#").tolist() == [ours.encode("a")[0], ours.specials["#"]]
    assert ours.encode("#", specials=False).tolist() == [ours.unknown]


def test_bad_arguments_of_characters(trained_characters):
    with refused(GlasshouseError, "50"):
        trained_characters.decode([50])
    with refused(DataError):
        trained_characters.encode("\ud800")


def test_saved_and_loaded_of_characters(trained_characters, tmp_path):
    trained_characters.save(tmp_path / "tokenizer.json")
    again = load(tmp_path / "tokenizer.json")
    assert type(again) is Characters
    assert (again._texts, again.specials, again.unknown) == (
        trained_characters._texts,
        trained_characters.specials,
        trained_characters.unknown,
    )
