"""Fixtures of the claim tests."""

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from glasshouse.data.sources import pig_latin
from glasshouse.specs import catalogue
from glasshouse.training import cost_plan
from tests.claims.made_up_claim import MadeUpClaim
from tests.cli.program import some_text

ONSETS, ENDINGS = ("b", "st", "", "tr", "m", "qu"), ("at", "in", "ore", "ump", "ite", "el", "oan", "uck")


@pytest.fixture(autouse=True)
def _short_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies are stored under the current folder, and planning times few steps."""
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 2)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[MadeUpClaim]:
    """The made-up claim, added to the catalogue under the name made-up."""
    text = tmp_path / "text.txt"
    text.write_text(some_text(600))
    monkeypatch.setattr(MadeUpClaim, "studies", (MadeUpClaim.plan(str(text)),))
    entries = catalogue._entries
    entry = SimpleNamespace(load=lambda: MadeUpClaim, value="here")
    monkeypatch.setattr(
        catalogue, "_entries", lambda family: {**entries(family), **({"made-up": entry} if family == "claim" else {})}
    )
    return MadeUpClaim


@pytest.fixture
def speeches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up speeches instead of the real ones."""
    folder = tmp_path / "data" / "speeches"
    folder.mkdir(parents=True)
    for seed, name in enumerate(("train_LM.txt", "test_LM_obama.txt", "test_LM_wbush.txt", "test_LM_hbush.txt")):
        (folder / name).write_text(some_text(300, seed))
    # As in the real files, the test file repeats segments of the training file and has new ones.
    known, new = (
        "".join(f"{number % 3}\t{line}\n" for number, line in enumerate(some_text(count, seed).splitlines()) if line.strip())
        for count, seed in ((200, 0), (60, 5))
    )
    (folder / "train_CLS.tsv").write_text(known)
    (folder / "test_CLS.tsv").write_text(known + new)
    monkeypatch.setenv("GLASSHOUSE_DATA", str(folder.parent))


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
