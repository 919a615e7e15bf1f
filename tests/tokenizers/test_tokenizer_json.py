"""Loading: files that `tokenizers` wrote give the same ids, and unsupported files are refused with the reason."""

import json
import sys

import pytest
from hypothesis import given

import tokenizers
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers import load
from glasshouse.tokenizers.byte_pair import BytePair
from tests.properties import examples
from tests.refusals import refused
from tests.tokenizers.difficult_texts import END_OF_TEXT, PROSE, texts
from tests.tokenizers.package_training import train_with_package
from tokenizers import decoders, models, pre_tokenizers, processors, trainers


@pytest.fixture(scope="module", params=["gpt-2", "gpt-4", "words", "no alphabet"])
def pair(request, tmp_path_factory):
    """A tokenizer that the `tokenizers` package trained, and ours from its file."""
    if request.param == "words":
        theirs = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
        theirs.pre_tokenizer = pre_tokenizers.Whitespace()
        theirs.train_from_iterator([PROSE], trainers.WordLevelTrainer(vocab_size=40, special_tokens=["[UNK]", "[PAD]"]))
    elif request.param == "no alphabet":
        theirs = tokenizers.Tokenizer(models.BPE())
        theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        theirs.decoder = decoders.ByteLevel()
        theirs.train_from_iterator(["the cat sat on the mat"], trainers.BpeTrainer(vocab_size=40))
    else:
        theirs = train_with_package(PROSE, 350, request.param)
        theirs.decoder = decoders.ByteLevel()
        theirs.post_processor = processors.ByteLevel(trim_offsets=False)
        theirs.add_special_tokens(["<|late|>"])
    path = tmp_path_factory.mktemp("files") / "tokenizer.json"
    theirs.save(str(path))
    return theirs, load(path)


@examples(150)
@given(text=texts)
def test_a_file_of_the_package_gives_the_same_ids(pair, text):
    theirs, ours = pair
    ids = theirs.encode(text).ids
    assert ours.encode(text).tolist() == ids
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    assert ours.vocabulary == theirs.get_vocab_size()


def test_a_file_of_the_package_may_lack_tokens(pair):
    theirs, ours = pair
    assert ours.end_of_text == theirs.token_to_id(END_OF_TEXT)
    assert ours.unknown == theirs.token_to_id("[UNK]")


def test_saving_again_changes_nothing(pair, tmp_path):
    theirs, ours = pair
    ours.save(tmp_path / "again.json")
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
    assert again.encode(PROSE).ids == theirs.encode(PROSE).ids
    assert again.get_vocab() == theirs.get_vocab()


@pytest.fixture
def contents(tmp_path):
    BytePair.train([PROSE], 300).save(tmp_path / "tokenizer.json")
    return json.loads((tmp_path / "tokenizer.json").read_text())


def test_merges_as_strings(contents, tmp_path):
    expected = load(tmp_path / "tokenizer.json").merges
    contents["model"]["merges"] = [" ".join(merge) for merge in contents["model"]["merges"]]
    (tmp_path / "strings.json").write_text(json.dumps(contents))
    assert load(tmp_path / "strings.json").merges == expected


@pytest.mark.parametrize(
    ("keys", "value", "reason"),
    [
        (["model", "type"], "Unigram", "model type 'Unigram'"),
        (["model", "type"], "WordPiece", "model type 'WordPiece'"),
        (["model", "dropout"], 0.1, "dropout=0.1"),
        (["model", "byte_fallback"], True, "byte_fallback=true"),
        (["model", "ignore_merges"], True, "ignore_merges=true"),
        (["model", "end_of_word_suffix"], "</w>", "end_of_word_suffix"),
        (["model", "novelty"], 1, "'novelty'"),
        (["normalizer"], {"type": "NFC"}, "normalizer 'NFC'"),
        (["truncation"], {"max_length": 5}, "truncation"),
        (["post_processor"], {"type": "TemplateProcessing"}, "post_processor 'TemplateProcessing'"),
        (["decoder"], {"type": "WordPiece"}, "decoder 'WordPiece'"),
        (["decoder"], None, "decoder None"),
        (["pre_tokenizer"], None, "pre_tokenizer None"),
        (["pre_tokenizer"], {"type": "Metaspace"}, "pre_tokenizer 'Metaspace'"),
        (["pre_tokenizer", "add_prefix_space"], True, "add_prefix_space=true"),
        (["pre_tokenizer", "use_regex"], False, "use_regex=false"),
        (["pre_tokenizer"], {"type": "Sequence", "pretokenizers": [{"type": "Digits"}]}, "['Digits']"),
        (["added_tokens", 0, "lstrip"], True, "lstrip=true"),
        (["added_tokens", 0, "special"], False, "special=false"),
        (["added_tokens", 0, "id"], 7, "id 7"),
    ],
)
def test_unsupported_settings_are_refused_with_the_reason(contents, tmp_path, keys, value, reason, monkeypatch):
    """Without the package `tokenizers`, which would run what our own classes do not support."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    part = contents
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    file = tmp_path / "foreign.json"
    file.write_text(json.dumps(contents))
    with refused(GlasshouseError, str(file), reason, "byte-level BPE", "pip install tokenizers"):
        load(file)


def test_a_template_that_adds_nothing(contents, tmp_path):
    first, second = ({"Sequence": {"id": name, "type_id": index}} for index, name in enumerate("AB"))
    contents["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [first],
        "pair": [first, second],
        "special_tokens": {},
    }
    (tmp_path / "template.json").write_text(json.dumps(contents))
    assert isinstance(load(tmp_path / "template.json"), BytePair)


def test_an_unknown_token_that_is_never_used(contents, tmp_path):
    ours = load(tmp_path / "tokenizer.json")
    contents["model"]["unk_token"] = END_OF_TEXT
    (tmp_path / "unknown.json").write_text(json.dumps(contents))
    changed = load(tmp_path / "unknown.json")
    assert isinstance(changed, BytePair)
    assert changed.encode(PROSE).tolist() == ours.encode(PROSE).tolist()


def test_an_unknown_token_that_may_be_used_is_refused(contents, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    contents["model"]["unk_token"] = END_OF_TEXT
    del contents["model"]["vocab"]["Z"]
    (tmp_path / "unknown.json").write_text(json.dumps(contents))
    with refused(GlasshouseError):
        load(tmp_path / "unknown.json")


def test_another_split_pattern_is_refused(contents, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    split = {"type": "Split", "pattern": {"Regex": r"\w+"}, "behavior": "Isolated", "invert": False}
    contents["pre_tokenizer"]["use_regex"] = False
    contents["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, contents["pre_tokenizer"]]}
    (tmp_path / "foreign.json").write_text(json.dumps(contents))
    with refused(GlasshouseError):
        load(tmp_path / "foreign.json")


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (b"not json", GlasshouseError, "JSON"),
        (b"\xff\xfe\x00", GlasshouseError, "JSON"),
        (b"[1, 2]", GlasshouseError, "'model'"),
        (b'{"model": 3}', GlasshouseError, "'model'"),
        (b'{"model": {"type": "BPE"}}', GlasshouseError, "pre_tokenizer None"),
        (
            b'{"model": {"type": "WordLevel", "vocab": {}}, "pre_tokenizer": {"type": "Digits"}}',
            GlasshouseError,
            "pre_tokenizer 'Digits'",
        ),
        (
            b'{"model": {"type": "WordLevel", "vocab": {}}, "pre_tokenizer": {"type": "Whitespace"}}',
            GlasshouseError,
            "unk_token",
        ),
        (
            b'{"model": {"type": "WordLevel", "vocab": {"a": 1}, "unk_token": "a"}, '
            b'"pre_tokenizer": {"type": "Whitespace"}}',
            GlasshouseError,
            "0, 1, 2, ...",
        ),
        (
            b'{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "b"}, '
            b'"pre_tokenizer": {"type": "Whitespace"}}',
            GlasshouseError,
            'unk_token="b"',
        ),
    ],
)
def test_a_file_that_is_not_a_tokenizer_is_refused(tmp_path, content, kind, reason, monkeypatch):
    """Without the package `tokenizers`; test_external.py tests what the package does with such files."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with refused(kind, str(path), reason):
        load(path)


def test_a_missing_file_is_refused(tmp_path):
    with refused(GlasshouseError, "nowhere.json"):
        load(tmp_path / "nowhere.json")
