"""Shards and preparation: the same tokens whatever the parts, marks between documents, caching, bounded memory."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from glasshouse.data import prepared_data, shards
from glasshouse.data.documents import Document
from glasshouse.data.sources.state_of_the_union import HELD_OUT, StateOfTheUnion
from glasshouse.specs.spec import DataSpec, ModelSpec
from glasshouse.tasks.next_token import NextToken
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.safe_cuts import blocks
from tests.refusals import refused

TEXT = "It is a truth universally acknowledged, that a single man must be in want of a wife.\n" * 40


@pytest.fixture(scope="module")
def tokenizer():
    return BytePair.train([TEXT], 300)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))


def test_documents_begin_with_a_mark_and_a_mark_ends_them(tmp_path, tokenizer):
    mark = tokenizer.end_of_text
    shard = shards.write(tmp_path, "train", [Document("one"), Document("two")], tokenizer)
    one, two = (list(tokenizer.encode(text)) for text in ("one", "two"))
    assert shard.tokens.tolist() == [mark, *one, mark, *two, mark]
    assert shard.starts.tolist() == [0, len(one) + 1, len(one) + len(two) + 2]
    assert (shard.documents, shard.bytes) == (2, 6)
    again = shards.open_shard(tmp_path, "train")
    assert np.array_equal(again.tokens, shard.tokens)


@pytest.mark.parametrize("size", [1, 50, 10**6])
def test_parts_of_a_document_give_the_tokens_of_the_whole(tmp_path, tokenizer, size, monkeypatch):
    monkeypatch.setattr(shards, "blocks", lambda chunks: blocks(chunks, size=size))
    parts = [Document(TEXT[i : i + 37], continues=i > 0) for i in range(0, len(TEXT), 37)]
    shard = shards.write(tmp_path, "train", parts, tokenizer)
    assert shard.tokens.tolist()[1:-1] == list(tokenizer.encode(TEXT))
    assert shard.documents == 1


def test_a_document_cannot_bring_in_a_mark(tmp_path, tokenizer):
    shard = shards.write(tmp_path, "train", [Document("a <|endoftext|> b")], tokenizer)
    assert (shard.tokens == tokenizer.end_of_text).sum() == 2
    assert tokenizer.decode(shard.tokens[1:-1]) == "a <|endoftext|> b"


def test_an_empty_split_is_empty(tmp_path, tokenizer):
    shard = shards.write(tmp_path, "test", [], tokenizer)
    assert (shard.tokens_count, shard.documents, len(shard.tokens)) == (0, 0, 0)


def test_the_shipped_text_is_split_by_whole_addresses():
    source = StateOfTheUnion()
    ids = {split: {d.fields["id"] for d in source.documents(split)} for split in ("train", "validation", "test")}
    assert ids["validation"] == HELD_OUT["validation"]
    assert ids["test"] == HELD_OUT["test"]
    assert len(ids["train"]) + 8 == 39
    assert not ids["train"] & (ids["validation"] | ids["test"])


def test_preparing_is_done_once(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    data = DataSpec(files=(str(tmp_path / "a.txt"),), vocabulary=280, context=16)
    said: list[str] = []
    first = prepared_data.prepare(data, progress=lambda what, share: said.append(what))
    assert said
    said.clear()
    second = prepared_data.prepare(data, progress=lambda what, share: said.append(what))
    assert not said
    assert np.array_equal(first.splits["train"].tokens, second.splits["train"].tokens)
    (tmp_path / "a.txt").write_text(TEXT.upper())
    assert prepared_data.prepare(data).fingerprint != first.fingerprint


def test_a_text_shorter_than_the_context_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("A short text.")
    prepared = prepared_data.prepare(DataSpec(files=(str(tmp_path / "a.txt"),), tokenizer="characters", context=64))
    with refused("too-little-text"):
        NextToken(64).complete_model(ModelSpec(), prepared)


@pytest.mark.slow
def test_two_gigabytes_need_less_than_one(tmp_path):
    """A text of 2 GB becomes a tokenizer and shards in under 1 GB of memory."""
    program = """
        import json, resource, sys
        from pathlib import Path
        from glasshouse.data import prepared_data
        from glasshouse.data.sources.state_of_the_union import StateOfTheUnion
        from glasshouse.specs.spec import DataSpec
        path = Path(sys.argv[1])
        speeches = [document.text for document in StateOfTheUnion().documents("train")]
        written = round_ = 0
        with open(path, "w", encoding="utf-8") as file:
            while written < 2 * 10**9:
                for speech in speeches:  # not the same text again: every round has words of its own
                    written += file.write(speech.replace(" the ", f" the{round_} ") + "\\n\\n")
                round_ += 1
        prepared = prepared_data.prepare(DataSpec(files=(str(path),), vocabulary=8192))
        shard = prepared.splits["train"]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"peak": peak, "tokens": shard.tokens_count, "bytes": shard.bytes}))
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "large.txt")]
    facts = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert facts["bytes"] > 1.7 * 10**9
    assert facts["peak"] < 10**9
