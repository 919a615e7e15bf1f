"""Fixtures of the tests of claims about translation: made-up word lists in place of the course's."""

from itertools import product
from pathlib import Path

import pytest

from glasshouse.data.sources import pig_latin, pig_latin_phrases
from glasshouse.data.sources.scenes import entailment_pairs, pictures

ONSETS, ENDINGS = ("b", "st", "", "tr", "m", "qu"), ("at", "in", "ore", "ump", "ite", "el", "oan", "uck")


@pytest.fixture
def word_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small list and a large one that contains it, in the format of the course's files."""
    words = [f"{onset}{ending}" for onset, ending in product(ONSETS, ENDINGS)]
    folder = tmp_path / "data" / "piglatin"
    folder.mkdir(parents=True)
    for name, count in (("small", 30), ("large", len(words))):
        lines = [f"{word} {pig_latin.translate(word)}\n" for word in words[:count]]
        (folder / f"pig_latin_{name}.txt").write_text("".join(lines))
    monkeypatch.setenv("GLASSHOUSE_DATA", str(folder.parent))


@pytest.fixture
def no_word_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the course's files."""
    monkeypatch.setenv("GLASSHOUSE_DATA", str(tmp_path / "nothing"))


@pytest.fixture
def few_scene_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the pairs of captions."""
    monkeypatch.setattr(entailment_pairs, "SIZES", {split: size // 10 for split, size in entailment_pairs.SIZES.items()})


@pytest.fixture
def few_phrases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few Pig Latin phrases of each length."""
    monkeypatch.setattr(pig_latin_phrases, "SIZES", {"train": 100, "validation": 8, "test": 8})


@pytest.fixture
def few_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few pictures of scenes."""
    monkeypatch.setattr(pictures, "SIZES", {"train": 200, "validation": 12, "test": 12})
