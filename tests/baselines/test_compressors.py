"""Compressors as language models: text that was seen costs little, noise costs eight bits, and sizes are limited."""

import random
from collections.abc import Iterator

import pytest

from glasshouse.baselines import compressors
from glasshouse.baselines.baseline import BaselineData
from glasshouse.data.documents import Document

WORDS = "".join(random.Random(0).choices("abcdefghijklmnop ", k=20_000))


def data(**texts: str) -> BaselineData:
    def documents(split: str) -> Iterator[Document]:
        yield Document(texts[split][:7])
        yield Document(texts[split][7:], continues=True)

    return BaselineData(None, documents, "test")


def test_text_that_was_seen_in_training_costs_less_than_new_text() -> None:
    seen, *_ = compressors.compressors(data(train=WORDS, test=WORDS[5000:9000]))
    new, *_ = compressors.compressors(data(train=WORDS[:10_000], test=WORDS[15_000:19_000]))
    assert seen.name == "xz"
    assert seen.metrics["bits_per_byte"] < 0.3
    assert 4 < new.metrics["bits_per_byte"] < 5.5
    assert new.note == ""


def test_limits_are_kept_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressors, "MOST_TRAINING_BYTES", 100)
    assert compressors.last_bytes(["abc", "def", "gh"], 5) == b"defgh"
    assert compressors.first_bytes(["abc", "def", "gh"], 4) == (b"abcd", 8)
    assert compressors.last_bytes(iter([WORDS[i : i + 10] for i in range(0, 5000, 10)]), 100) == WORDS[4900:5000].encode()


def test_without_a_module_zstd_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressors, "ZSTD_MODULES", ("no_such_module",))
    _, zstd = compressors.compressors(data(train=WORDS, test=WORDS[:100]))
    assert zstd.metrics == {}
    assert "no module for zstd is installed" in zstd.note


def test_no_held_out_text_gives_no_baseline() -> None:
    assert list(compressors.compressors(data(train=WORDS, test=""))) == []
