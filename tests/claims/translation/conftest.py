"""Fixtures of the tests of claims about translation: smaller data sets."""

import pytest

from glasshouse.data.sources import pig_latin
from glasshouse.data.sources.scenes import entailment, pictures


@pytest.fixture
def few_scene_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the pairs of captions."""
    monkeypatch.setattr(entailment, "SIZES", {split: size // 10 for split, size in entailment.SIZES.items()})


@pytest.fixture
def few_phrases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few Pig Latin phrases of each length."""
    monkeypatch.setattr(pig_latin, "SIZES", {"train": 100, "validation": 8, "test": 8})


@pytest.fixture
def few_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few pictures of scenes."""
    monkeypatch.setattr(pictures, "SIZES", {"train": 200, "validation": 12, "test": 12})
