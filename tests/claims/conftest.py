"""Fixtures of the claim tests."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from glasshouse.specs import catalogue
from glasshouse.training import cost_plan
from tests.claims.made_up_claim import MadeUpClaim
from tests.cli.program import some_text


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
