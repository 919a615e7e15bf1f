"""Shards made part by part: the same as those made in one go, whoever makes the parts and whatever happens meanwhile."""

import codecs
import gzip
import json
import os
import random
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.data import prepared_data, shards
from glasshouse.data.corpus_shards import CorpusShards, read_manifest
from glasshouse.data.documents import SPLITS
from glasshouse.data.user_files import text as user_text
from glasshouse.data.user_files.text import UserText
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import safe_boundaries
from glasshouse.tokenizers.base import MASK
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.words import Characters, Words
from tests.refusals import refused

SENTENCE = "It is a truth universally acknowledged, that a single man must be in want of a wife. 真理。 déjà vu\n"
WORDS = SENTENCE.split(" ")
TOKENIZER = BytePair.train([SENTENCE * 40], 300)


def text(seed: int, words: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


@pytest.fixture(autouse=True)
def small_parts(tmp_path, monkeypatch):
    """Parts and blocks so small that a test has many of them."""
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(user_text, "PART_BYTES", 1000)
    blocks = lambda chunks: safe_boundaries.split_into_blocks(chunks, size=200)  # noqa: E731
    for module in (shards, user_text):
        monkeypatch.setattr(module, "split_into_blocks", blocks)


@pytest.fixture
def files(tmp_path) -> list[Path]:
    """Each format, with a byte order mark, blank lines, a missing last line end and a file smaller than a part."""
    plain, marked, zipped = (tmp_path / name for name in ("a.txt", "b.txt", "c.txt.gz"))
    plain.write_text(text(0, 2000), encoding="utf-8")
    marked.write_bytes(codecs.BOM_UTF8 + text(1, 1500).encode())
    zipped.write_bytes(gzip.compress(text(2, 1000).encode()))
    lines = [json.dumps({"text": text(seed, seed % 90)}, ensure_ascii=seed % 2 == 0) for seed in range(120)]
    (tmp_path / "d.jsonl").write_text("\n\n".join(lines), encoding="utf-8")
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[:50]).encode()))
    (tmp_path / "f.txt").write_text("short\n")
    return sorted(path for path in tmp_path.iterdir() if path.is_file())


def source_of(paths, validation=0.05, test=0.05) -> UserText:
    return UserText(DataSpec(files=tuple(map(str, paths)), validation=validation, test=test))


def corpus_in(folder: Path, paths, tokenizer=TOKENIZER, **shares) -> CorpusShards:
    corpus = CorpusShards(source_of(paths, **shares), tokenizer, folder, {})
    corpus.plan()
    return corpus


def written(folder: Path) -> dict[str, bytes]:
    """The shards of a folder."""
    return {
        f"{split}.{suffix}": (folder / f"{split}.{suffix}").read_bytes()
        for split in SPLITS
        for suffix in ("tokens", "starts", "json")
    }


def in_one_go(folder: Path, paths, tokenizer=TOKENIZER, **shares) -> dict[str, bytes]:
    folder.mkdir()
    for split in SPLITS:
        shards.write(folder, split, source_of(paths, **shares).documents(split), tokenizer)
    return written(folder)


@pytest.mark.parametrize("shares", [{}, {"validation": 0.3, "test": 0.0}, {"validation": 0.0, "test": 0.0}])
@pytest.mark.parametrize("kind", [BytePair, Words, Characters])
def test_the_shards_are_those_made_in_one_go(tmp_path, files, shares, kind):
    tokenizer = TOKENIZER if kind is BytePair else kind.train([text(0, 500)], 40)
    corpus = corpus_in(tmp_path / "out", files, tokenizer, **shares)
    assert len(corpus.parts) > 10
    corpus.finish()
    assert written(tmp_path / "out") == in_one_go(tmp_path / "plain", files, tokenizer, **shares)
    assert not corpus.work_folder.exists()


@settings(max_examples=40, deadline=None)
@given(
    content=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"), min_size=1, max_size=400),
    part_bytes=st.integers(1, 100),
)
def test_any_text_in_parts_of_any_size(tmp_path_factory, content, part_bytes):
    folder = tmp_path_factory.mktemp("text")
    (folder / "a.txt").write_text(content, encoding="utf-8", newline="")
    default, user_text.PART_BYTES = user_text.PART_BYTES, part_bytes
    try:
        corpus_in(folder / "out", [folder / "a.txt"]).finish()
    finally:
        user_text.PART_BYTES = default
    assert written(folder / "out") == in_one_go(folder / "plain", [folder / "a.txt"])


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_take_parts_that_nobody_has_and_the_result_is_the_same(tmp_path, files, workers, monkeypatch):
    expected = in_one_go(tmp_path / "plain", files)
    corpora = [corpus_in(tmp_path / "out", files) for _ in range(workers)]
    encoded = []
    read_blocks = user_text.read_blocks

    def recorded(source, part, ranges):
        encoded.append(part)
        return read_blocks(source, part, ranges)

    monkeypatch.setattr(user_text, "read_blocks", recorded)
    threads = [threading.Thread(target=corpus.finish) for corpus in corpora]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(encoded) == len(corpora[0].parts)
    assert corpora[0].missing() == []
    assert corpora[0].share_done() == 1
    assert written(tmp_path / "out") == expected
    corpora[0].finish()
    assert len(encoded) == len(corpora[0].parts)


def test_the_manifest_says_what_was_made(tmp_path, files):
    corpus = corpus_in(tmp_path / "out", files)
    corpus.finish()
    manifest = read_manifest(tmp_path / "out")
    assert [Path(file["path"]) for file in manifest["files"]] == files
    assert all(file["bytes"] and file["digest"] for file in manifest["files"])
    assert manifest["tokenizer"] == TOKENIZER.digest()
    for split in SPLITS:
        shard = shards.open_shard(tmp_path / "out", split)
        assert shard.documents == manifest["splits"][split]["documents"]
        assert shard.tokens_count == manifest["splits"][split]["tokens"]
        assert len(manifest["splits"][split]["checksum"]) == 32


def test_what_is_done_is_not_done_again(tmp_path, files, monkeypatch):
    class Killed(BaseException):
        pass

    expected = in_one_go(tmp_path / "plain", files)
    corpus = corpus_in(tmp_path / "out", files)

    def stop(what: str, share: float) -> None:
        if share > 0.5:
            raise Killed

    with pytest.raises(Killed):
        corpus.finish(stop)
    left = corpus.missing()
    assert 0 < len(left) < len(corpus.parts)
    again = corpus_in(tmp_path / "out", files)
    made: list[int] = []
    encode = again._encode

    def recorded(index: int) -> None:
        made.append(index)
        encode(index)

    monkeypatch.setattr(again, "_encode", recorded)
    again.finish()
    assert sorted(made) == left
    assert written(tmp_path / "out") == expected


def test_damaged_shards_are_noticed_and_made_again(tmp_path, files):
    corpus = corpus_in(tmp_path / "out", files)
    corpus.finish()
    expected = written(tmp_path / "out")
    assert corpus.discard_damaged() == []
    with open(tmp_path / "out" / "train.tokens", "r+b") as file:
        file.write(b"\xff")
    (tmp_path / "out" / "test.starts").unlink()
    assert corpus.discard_damaged() == ["train", "test"]
    corpus.finish()
    assert written(tmp_path / "out") == expected


def test_another_tokenizer_or_text_is_refused(tmp_path, files):
    corpus_in(tmp_path / "out", files).finish()
    with refused(DataError, "tokenizer", str(tmp_path / "out")):
        corpus_in(tmp_path / "out", files, Characters.train([text(0, 500)], 40))
    with refused(DataError, "text"):
        corpus_in(tmp_path / "out", files[:2])
    unfinished = corpus_in(tmp_path / "unfinished", files)
    with refused(DataError, str(unfinished.work_folder)):
        corpus_in(tmp_path / "unfinished", files[:2])


def test_a_file_that_changes_meanwhile_is_refused(tmp_path, files):
    corpus = corpus_in(tmp_path / "out", files)
    with open(files[0], "a") as file:
        file.write("more")
    with refused(GlasshouseError, str(files[0])):
        corpus.finish()
    assert len(corpus.missing()) == len(corpus.parts)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, files):
    (tmp_path / "file").write_text("in the way")
    with refused(GlasshouseError, "GLASSHOUSE_CACHE"):
        corpus_in(tmp_path / "file" / "out", files)
    assert os.listdir(tmp_path).count("out.parts") == 0


def test_a_damaged_manifest_is_refused(tmp_path, files):
    corpus = corpus_in(tmp_path / "out", files)
    corpus.finish()
    (tmp_path / "out" / "manifest.json").write_text("{")
    with refused(DataError, str(tmp_path / "out")):
        corpus.plan()
    (tmp_path / "out" / "manifest.json").write_text('{"format": 99}')
    with refused(GlasshouseError, "99"):
        corpus.plan()


# A folder as the data of a run: the same data as from the files themselves, and no folder that does not fit the spec.
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
