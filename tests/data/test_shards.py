"""Shards: separators between documents, and the same tokens however a document is divided into parts."""

import random
import sys

import numpy as np
import pytest

from glasshouse.data import shards
from glasshouse.data.documents import Document
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.safe_boundaries import split_into_blocks

TEXT = "It is a truth universally acknowledged, that a single man must be in want of a wife.\n" * 40


@pytest.fixture(scope="module")
def tokenizer():
    return BytePair.train([TEXT], 300)


def test_a_separator_starts_each_document_and_follows_the_last(tmp_path, tokenizer):
    separator = tokenizer.end_of_text
    shard = shards.write(tmp_path, "train", [Document("one"), Document("two")], tokenizer)
    one, two = (list(tokenizer.encode(text)) for text in ("one", "two"))
    assert shard.tokens.tolist() == [separator, *one, separator, *two, separator]
    assert shard.starts.tolist() == [0, len(one) + 1, len(one) + len(two) + 2]
    assert (shard.documents, shard.bytes) == (2, 6)
    reopened = shards.open_shard(tmp_path, "train")
    assert np.array_equal(reopened.tokens, shard.tokens)


@pytest.mark.parametrize("size", [1, 50, 10**6])
def test_parts_of_a_document_give_the_tokens_of_the_whole(tmp_path, tokenizer, size, monkeypatch):
    monkeypatch.setattr(shards, "split_into_blocks", lambda chunks: split_into_blocks(chunks, size=size))
    parts = [Document(TEXT[i : i + 37], continues=i > 0) for i in range(0, len(TEXT), 37)]
    shard = shards.write(tmp_path, "train", parts, tokenizer)
    assert shard.tokens.tolist()[1:-1] == list(tokenizer.encode(TEXT))
    assert shard.documents == 1


def test_a_document_cannot_inject_a_separator(tmp_path, tokenizer):
    shard = shards.write(tmp_path, "train", [Document("a <|endoftext|> b")], tokenizer)
    assert (shard.tokens == tokenizer.end_of_text).sum() == 2
    assert tokenizer.decode(shard.tokens[1:-1]) == "a <|endoftext|> b"


def test_an_empty_split_is_empty(tmp_path, tokenizer):
    shard = shards.write(tmp_path, "test", [], tokenizer)
    assert (shard.tokens_count, shard.documents, len(shard.tokens)) == (0, 0, 0)


def test_words_of_a_long_text_are_counted_as_split_does():
    blanks = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    choose = random.Random(0).choices
    for characters in ([*blanks, "a", "\u3001", "\U0001f600"], ["a", " "], ["a"], blanks):
        for length in (10, 5000):
            text = "".join(choose(characters, k=length))
            assert shards.count_words(text) == len(text.split())
