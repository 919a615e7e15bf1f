"""`glasshouse studies`, and `glasshouse report` of a study."""

import json
import shutil
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError, RunError

from .program import (
    call,
    refused,
    worked,
)
from .study_commands import POSITIONS, compare

pytestmark = pytest.mark.usefixtures("short_trials")


def test_a_study_is_listed_and_reported(study: Path) -> None:
    listed = worked(call("studies")).out
    for word in ("positions", "compare", "language-model", "6/6", "done"):
        assert word in listed
    (study / "report.html").unlink()
    (study / "table.md").unlink()
    assert worked(call("report", "positions")).out.strip() == "studies/positions/report.html"
    assert (study / "report.html").exists()
    assert (study / "table.md").exists()
    (study / "study.json").write_text("{")
    assert "damaged" in worked(call("studies")).out


def test_a_study_is_shown_again_with_all_pairs(study: Path, short_text: Path) -> None:
    shown = worked(call("studies", "positions")).out
    assert "comparison" not in shown.partition("study ")[0]
    runs = {path: path.read_bytes() for path in study.glob("*/*/run.json")}
    shown = worked(call("studies", "positions", "--all-pairs")).out
    assert "Two arms have one comparison" in shown
    assert "against" in shown
    assert "All pairs" in (study / "report.html").read_text()
    printed = json.loads(worked(call("studies", "studies/positions", "--json")).out)
    assert [(pair["arm"], pair["against"]) for pair in printed["pairs"]] == [("none", "learned")]
    again = worked(compare(short_text, POSITIONS, "--seeds", "3", "--name", "positions", "--all-pairs"))
    assert "asks the same question" in again.err
    assert "Two arms have one comparison" in again.out
    assert all(path.read_bytes() == content for path, content in runs.items()), "nothing is trained"


def test_what_studies_refuses(study: Path) -> None:
    refused(call("studies", "--all-pairs"), GlasshouseError, "glasshouse studies STUDY --all-pairs")
    refused(call("studies", "--json"), GlasshouseError)
    refused(call("studies", "position"), RunError, "positions")


def test_no_studies_yet() -> None:
    assert "There are no studies in studies yet" in worked(call("studies")).out


def test_a_name_of_both_a_run_and_a_study_must_be_told_apart(study: Path, runs: Path) -> None:
    shutil.copytree(study / "none/seed-0", runs / "positions")
    refused(call("report", "positions"), RunError, str(runs / "positions"), "studies/positions")
    worked(call("report", "studies/positions"))
    worked(call("resume", str(runs / "positions"), "--device", "cpu"))
