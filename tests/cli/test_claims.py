"""`glasshouse claims` and `glasshouse claim`: the list, a quick run, the report, and refusals."""

from pathlib import Path

import pytest

from glasshouse.training import cost_plan

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


def test_pulse(speeches: None) -> None:
    listed = worked(call("claims"))
    assert "alibi-extrapolates" in listed.out
    assert "– not tried" in listed.out

    tried = worked(call("claim", "alibi-extrapolates", "--quick", "--device", "cpu"))
    assert "? undecided" in tried.out
    assert "This was a quick run, from which nothing follows" in tried.out
    assert "test perplexity at 128 tokens, alibi" in tried.out
    assert "rule    The language model is trained with ALiBi" in tried.out
    assert Path("studies/claims/alibi-extrapolates/quick/finding.json").is_file()

    [line] = [line for line in worked(call("claims")).out.splitlines() if "alibi-extrapolates" in line]
    assert "? undecided (a quick run)" in line

    assert worked(call("claims", "report")).out.strip() == "claims.html"
    page = Path("claims.html").read_text()
    assert "test perplexity at 128 tokens, alibi" in page
    assert "data:image/svg+xml" in page
    assert worked(call("claims", "report", "--output", "claims.md")).out.strip() == "claims.md"
    assert "## alibi-extrapolates" in Path("claims.md").read_text()


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_DATA", raising=False)
    refused(call("claim", "alibi-extrapolate"), "unknown-word", "claim='alibi-extrapolate'", "'alibi-extrapolates'")
    refused(call("claim", "alibi-speed", "--seeds", "1"), "bad-seeds", "--seeds=1")
    refused(call("claims", "report", "--output", "claims.pdf"), "wrong-suffix", "claims.pdf")
    refused(call("claims", "report", "--output", "nowhere/claims.md"), "missing-folder")
    without = worked(call("claim", "alibi-speed"))
    assert "? undecided" in without.out
    assert "GLASSHOUSE_DATA=FOLDER glasshouse claim alibi-speed" in without.out
