"""Files that `tokenizers` wrote are read, and files that cannot be followed are refused with a reason."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from odd_texts import MARK, PROSE, texts
from test_learning_merges import trained_elsewhere
from tests.refusals import refused

import tokenizers
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers import load
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.byte_pair_encoder import encode_text
from glasshouse.tokenizers.compilation import sources_stamp
from glasshouse.tokenizers.piece_counts import count_text
from tokenizers import decoders, models, pre_tokenizers, processors, trainers


@pytest.fixture(scope="module", params=["gpt-2", "gpt-4", "words", "no alphabet"])
def pair(request, tmp_path_factory):
    """A tokenizer that `tokenizers` trained, and ours from its file."""
    if request.param == "words":
        other = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
        other.pre_tokenizer = pre_tokenizers.Whitespace()
        other.train_from_iterator([PROSE], trainers.WordLevelTrainer(vocab_size=40, special_tokens=["[UNK]", "[PAD]"]))
    elif request.param == "no alphabet":
        other = tokenizers.Tokenizer(models.BPE())
        other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        other.decoder = decoders.ByteLevel()
        other.train_from_iterator(["the cat sat on the mat"], trainers.BpeTrainer(vocab_size=40))
    else:
        other = trained_elsewhere(PROSE, 350, request.param)
        other.decoder = decoders.ByteLevel()
        other.post_processor = processors.ByteLevel(trim_offsets=False)
        other.add_special_tokens(["<|late|>"])
    path = tmp_path_factory.mktemp("files") / "tokenizer.json"
    other.save(str(path))
    return other, load(path)


@settings(max_examples=150, deadline=None)
@given(text=texts)
def test_same_ids_from_the_file_of_another(pair, text):
    other, ours = pair
    ids = other.encode(text).ids
    assert ours.encode(text).tolist() == ids
    assert ours.decode(ids) == other.decode(ids, skip_special_tokens=False)
    assert ours.vocabulary == other.get_vocab_size()


def test_what_a_foreign_file_may_lack(pair):
    other, ours = pair
    assert ours.end_of_text == other.token_to_id(MARK)
    assert ours.unknown == other.token_to_id("[UNK]")
    assert ours.lossless == (other.get_vocab_size() > 256)


def test_written_again_it_stays_the_same(pair, tmp_path):
    other, ours = pair
    ours.save(tmp_path / "again.json")
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
    assert again.encode(PROSE).ids == other.encode(PROSE).ids
    assert again.get_vocab() == other.get_vocab()


@pytest.fixture
def document(tmp_path):
    BytePair.train([PROSE], 300).save(tmp_path / "tokenizer.json")
    return json.loads((tmp_path / "tokenizer.json").read_text())


def test_merges_as_strings(document, tmp_path):
    expected = load(tmp_path / "tokenizer.json").merges
    document["model"]["merges"] = [" ".join(merge) for merge in document["model"]["merges"]]
    (tmp_path / "strings.json").write_text(json.dumps(document))
    assert load(tmp_path / "strings.json").merges == expected


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["model", "type"], "Unigram", "model type 'Unigram'"),
        (["model", "type"], "WordPiece", "model type 'WordPiece'"),
        (["model", "dropout"], 0.1, "dropout=0.1"),
        (["model", "byte_fallback"], True, "byte_fallback=true"),
        (["model", "ignore_merges"], True, "ignore_merges=true"),
        (["model", "end_of_word_suffix"], "</w>", "end_of_word_suffix"),
        (["model", "novelty"], 1, "a setting 'novelty'"),
        (["normalizer"], {"type": "NFC"}, "normalizer 'NFC'"),
        (["truncation"], {"max_length": 5}, "truncation"),
        (["post_processor"], {"type": "TemplateProcessing"}, "post_processor 'TemplateProcessing'"),
        (["decoder"], {"type": "WordPiece"}, "decoder 'WordPiece'"),
        (["decoder"], None, "decoder None"),
        (["pre_tokenizer"], None, "pre_tokenizer None"),
        (["pre_tokenizer"], {"type": "Metaspace"}, "pre_tokenizer 'Metaspace'"),
        (["pre_tokenizer", "add_prefix_space"], True, "add_prefix_space=true"),
        (["pre_tokenizer", "use_regex"], False, "use_regex=false"),
        (["pre_tokenizer"], {"type": "Sequence", "pretokenizers": [{"type": "Digits"}]}, "of ['Digits']"),
        (["added_tokens", 0, "lstrip"], True, "lstrip=true"),
        (["added_tokens", 0, "special"], False, "special=false"),
        (["added_tokens", 0, "id"], 7, "has id 7"),
    ],
)
def test_refused_with_a_reason(document, tmp_path, path, value, reason, monkeypatch):
    """Without the package `tokenizers`, which runs what our own classes do not follow."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    part = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    file = tmp_path / "foreign.json"
    file.write_text(json.dumps(document))
    with pytest.raises(GlasshouseError) as caught:
        load(file)
    assert str(file) in str(caught.value)
    assert reason in str(caught.value)
    assert "supported are (without the package tokenizers) byte-level BPE" in str(caught.value)
    assert "pip install tokenizers" in str(caught.value)


def test_a_template_that_adds_nothing(document, tmp_path):
    first, second = ({"Sequence": {"id": name, "type_id": place}} for place, name in enumerate("AB"))
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [first],
        "pair": [first, second],
        "special_tokens": {},
    }
    (tmp_path / "template.json").write_text(json.dumps(document))
    assert isinstance(load(tmp_path / "template.json"), BytePair)


def test_an_unknown_token_that_is_never_used(document, tmp_path):
    ours = load(tmp_path / "tokenizer.json")
    document["model"]["unk_token"] = MARK
    (tmp_path / "unknown.json").write_text(json.dumps(document))
    other = load(tmp_path / "unknown.json")
    assert isinstance(other, BytePair)
    assert other.encode(PROSE).tolist() == ours.encode(PROSE).tolist()


def test_an_unknown_token_that_may_be_used(document, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    document["model"]["unk_token"] = MARK
    del document["model"]["vocab"]["Z"]
    (tmp_path / "unknown.json").write_text(json.dumps(document))
    with refused("missing-package"):
        load(tmp_path / "unknown.json")


def test_another_split_pattern(document, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    split = {"type": "Split", "pattern": {"Regex": r"\w+"}, "behavior": "Isolated", "invert": False}
    document["pre_tokenizer"]["use_regex"] = False
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, document["pre_tokenizer"]]}
    (tmp_path / "foreign.json").write_text(json.dumps(document))
    with refused("missing-package"):
        load(tmp_path / "foreign.json")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not json", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[1, 2]", "has no 'model'"),
        (b'{"model": 3}', "has no 'model'"),
        (b'{"model": {"type": "BPE"}}', "pre_tokenizer None"),
        (
            b'{"model": {"type": "WordLevel", "vocab": {}}, "pre_tokenizer": {"type": "Digits"}}',
            "pre_tokenizer 'Digits'",
        ),
        (b'{"model": {"type": "WordLevel", "vocab": {}}, "pre_tokenizer": {"type": "Whitespace"}}', "damaged"),
        (
            b'{"model": {"type": "WordLevel", "vocab": {"a": 1}, "unk_token": "a"}, '
            b'"pre_tokenizer": {"type": "Whitespace"}}',
            "without a gap",
        ),
        (
            b'{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "b"}, '
            b'"pre_tokenizer": {"type": "Whitespace"}}',
            'unk_token="b"',
        ),
    ],
)
def test_not_a_tokenizer(tmp_path, content, reason, monkeypatch):
    """Without the package `tokenizers`; what it makes of such files is in test_foreign.py."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(GlasshouseError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


def test_missing_file(tmp_path):
    with refused("unreadable-tokenizer", "nowhere.json"):
        load(tmp_path / "nowhere.json")


def test_a_compiled_kernel_is_stale_when_any_file_changes():
    caches = [encode_text._cache, count_text._cache]
    assert {cache._cache_file._source_stamp for cache in caches} == {sources_stamp()}


def test_importing_the_package_imports_no_compiler():
    command = "import sys, glasshouse.tokenizers; sys.exit('numba' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False).returncode == 0
