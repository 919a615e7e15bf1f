"""`glasshouse claims` and `glasshouse claim`: the list, a quick run, the report, and refusals."""

from pathlib import Path

import pytest

from glasshouse.claims.claim import Bench, Measurements
from glasshouse.results.claim import Series
from glasshouse.specs.errors import GlasshouseError, RunError, SpecError
from glasshouse.training import cost_plan
from tests.claims.conftest import made_up  # noqa: F401 (a fixture)
from tests.claims.made_up_claim import MadeUpClaim

from .program import (
    call,
    refused,
    some_text,
    worked,
)


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 2)
    monkeypatch.setattr(cost_plan, "TIMING_SECONDS", 0.01)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def speeches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up speeches in the place of the real ones."""
    place = tmp_path / "data" / "speeches"
    place.mkdir(parents=True)
    names = ("train_LM.txt", "train_CLS.tsv", "test_LM_obama.txt", "test_LM_wbush.txt", "test_LM_hbush.txt")
    for seed, name in enumerate(names):
        lines = some_text(300, seed).splitlines()
        rows = (f"{number % 3}\t{line}" for number, line in enumerate(lines) if line.strip())
        (place / name).write_text("\n".join(rows if name.endswith(".tsv") else lines))
    monkeypatch.setenv("GLASSHOUSE_DATA", str(place.parent))


def constant_measurements(claim: MadeUpClaim, bench: Bench) -> Measurements:
    """Values that uphold the made-up claim, without a study."""
    values = {name: Series(dict.fromkeys(range(bench.seeds), 3.0)) for name in ("learned", "none")}
    return Measurements({**values, "missing": Series({0: 0.0})})


@pytest.mark.slow
def test_a_quick_run_of_a_claim(speeches: None) -> None:
    listed = worked(call("claims"))
    assert "alibi-extrapolates" in listed.out
    assert "– not tried" in listed.out

    tried = worked(call("claim", "alibi-extrapolates", "--quick", "--device", "cpu"))
    assert "This was a quick run, from which nothing follows" in tried.out
    assert "128 tokens" in tried.out
    folder = Path("studies/claims/alibi-extrapolates/quick")
    assert (folder / "registration.json").is_file()
    assert (folder / "values.json").is_file()
    [line] = [line for line in worked(call("claims")).out.splitlines() if "alibi-extrapolates" in line]
    assert "– not tried" in line, "a quick run is no trial"


@pytest.mark.usefixtures("made_up")
def test_a_trial_is_made_recorded_and_checked() -> None:
    tried = worked(call("claim", "made-up", "--seeds", "2", "--device", "cpu", "--first-seed", "7"))
    assert "✓ upheld" in tried.out
    assert "seeds 7 to 8" in tried.out
    assert worked(call("claims", "report")).out.strip() == "claims.html"
    assert "data:image/svg+xml" in Path("claims.html").read_text()
    assert worked(call("claims", "report", "--output", "record")).out.strip() == "record"
    assert "--seeds 2 --first-seed 7" in Path("record/made-up.md").read_text()
    assert "every page and picture follows" in worked(call("claims", "check", "record")).out
    Path("record/made-up.md").write_text("by hand")
    checked = call("claims", "check", "record")
    assert checked.code == 1
    assert "made-up.md" in checked.out


@pytest.mark.usefixtures("made_up")
def test_a_kept_trial_stays_as_it_is_when_its_data_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MadeUpClaim, "measure", constant_measurements)
    listed = worked(call("claim", "made-up", "--seeds", "2", "--device", "cpu")).out
    files = {path: path.read_bytes() for path in Path("studies").rglob("*.json")}
    assert len(files) >= 2
    monkeypatch.setattr(MadeUpClaim, "needs", ("speeches",))
    monkeypatch.delenv("GLASSHOUSE_DATA", raising=False)
    for options in ((), ("--seeds", "2"), ("--quick",), ("--replicate",), ("--seeds", "4", "--first-seed", "5")):
        refused(call("claim", "made-up", *options, "--device", "cpu"), RunError, "speeches")
    assert {path: path.read_bytes() for path in Path("studies").rglob("*.json")} == files
    assert "✓ upheld" in listed
    [line] = [line for line in worked(call("claims")).out.splitlines() if "made-up" in line]
    assert "✓ upheld" in line


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_DATA", raising=False)
    refused(call("claim", "alibi-extrapolate"), GlasshouseError, "claim='alibi-extrapolate'", "'alibi-extrapolates'")
    refused(call("claim", "bpe", "--seeds", "1"), SpecError, "--seeds=1")
    refused(call("claim", "alibi-speed"), RunError, "GLASSHOUSE_DATA=FOLDER glasshouse claim alibi-speed")
    refused(call("claims", "report", "--output", "nowhere/claims.html"), GlasshouseError)
    refused(call("claims", "check", "nowhere"), RunError, "nowhere")
