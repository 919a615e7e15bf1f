"""`glasshouse studies`, and `glasshouse report` of a study."""

import shutil
from pathlib import Path

import pytest

from .program import (
    call,
    refused,
    worked,
)

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


def test_no_studies_yet() -> None:
    assert "There are no studies in studies yet" in worked(call("studies")).out


def test_a_name_of_both_a_run_and_a_study_must_be_told_apart(study: Path, runs: Path) -> None:
    shutil.copytree(study / "none/seed-0", runs / "positions")
    refused(call("report", "positions"), "run-and-study", str(runs / "positions"), "studies/positions")
    worked(call("report", "studies/positions"))
    worked(call("resume", str(runs / "positions"), "--device", "cpu"))
