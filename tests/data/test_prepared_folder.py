"""`data.files=FOLDER`: the same data as from the files themselves, and no folder that does not fit the spec."""

from dataclasses import replace

import numpy as np
import pytest

from glasshouse.data import prepared_data
from glasshouse.data.documents import SPLITS
from glasshouse.data.user_files.text import UserText
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers.base import MASK
from glasshouse.tokenizers.words import Characters
from tests.refusals import refused

TEXT = "It is a truth universally acknowledged, that a single man must be in want of a wife.\n" * 40


@pytest.fixture
def data(tmp_path, monkeypatch) -> DataSpec:
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text(TEXT)
    return DataSpec(files=(str(tmp_path / "a.txt"),), vocabulary=280, context=16)


def prepared(tmp_path, data, specials=()) -> DataSpec:
    """The same data, from a folder."""
    source = UserText(data)
    corpus = prepared_data.Preparation(data, source, (), specials).corpus(source, output=tmp_path / "out")
    corpus.plan()
    corpus.finish()
    return replace(data, files=(str(tmp_path / "out"),))


def test_a_folder_gives_the_data_of_its_files(tmp_path, data):
    from_files, from_folder = prepared_data.prepare(data), prepared_data.prepare(prepared(tmp_path, data))
    assert from_folder.fingerprint == from_files.fingerprint
    assert from_folder.tokenizer.digest() == from_files.tokenizer.digest()
    for split in SPLITS:
        assert np.array_equal(from_folder.splits[split].tokens, from_files.splits[split].tokens)
        assert np.array_equal(from_folder.splits[split].starts, from_files.splits[split].starts)
    again = prepared_data.prepare(prepared(tmp_path, data), from_files.tokenizer)  # as a resumed run does
    assert again.fingerprint == from_files.fingerprint


def test_the_text_is_not_needed(tmp_path, data):
    folder = prepared(tmp_path, data)
    (tmp_path / "a.txt").unlink()
    assert prepared_data.prepare(folder).splits["train"].documents == 1


def test_other_settings_are_refused(tmp_path, data):
    folder = prepared(tmp_path, data)
    with refused(DataError, "data.vocabulary=300", "data.vocabulary=280"):
        prepared_data.prepare(replace(folder, vocabulary=300))
    with refused(DataError, "data.validation=0.05", "data.test=0.05"):
        prepared_data.prepare(replace(folder, validation=0.1, test=0.2))
    with refused(DataError, MASK, "--recipe"):
        prepared_data.prepare(folder, specials=(MASK,))
    with refused(DataError, "label"):
        prepared_data.prepare(folder, columns=("label",))


def test_another_tokenizer_is_refused(tmp_path, data):
    folder = prepared(tmp_path, data)
    Characters.train([TEXT], 40).save(tmp_path / "tokenizer.json")
    with refused(GlasshouseError, str(tmp_path / "out")):
        prepared_data.prepare(replace(folder, tokenizer_file=str(tmp_path / "tokenizer.json")))


def test_the_tokenizer_of_a_file(tmp_path, data):
    Characters.train([TEXT], 40).save(tmp_path / "tokenizer.json")
    of_file = replace(data, tokenizer_file=str(tmp_path / "tokenizer.json"))
    folder = prepared(tmp_path, of_file)
    assert prepared_data.prepare(folder).tokenizer.name == "characters"
    remedy = f"data.tokenizer_file={tmp_path / 'out' / 'tokenizer.json'}"
    with refused(GlasshouseError, remedy):
        prepared_data.prepare(replace(folder, tokenizer_file=""))


def test_special_tokens_are_part_of_the_folder(tmp_path, data):
    folder = prepared(tmp_path, data, specials=(MASK,))
    assert prepared_data.prepare(folder, specials=(MASK,)).tokenizer.mask is not None
    tokenizer = prepared_data.prepare(folder, specials=(MASK,)).tokenizer
    assert prepared_data.prepare(folder, tokenizer, specials=(MASK,)).tokenizer.mask is not None
