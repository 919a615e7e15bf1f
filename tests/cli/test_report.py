"""`glasshouse report` of a run."""

import json
import shutil
from pathlib import Path

from .program import (
    call,
    worked,
)


def test_report(run: Path) -> None:
    (run / "report.html").unlink()
    outcome = worked(call("report", "tiny"))
    assert outcome.out.strip() == str(run / "report.html")
    assert "tiny" in (run / "report.html").read_text()


def test_report_of_a_run_that_has_only_begun(run: Path) -> None:
    shutil.rmtree(run / "checkpoints")
    (run / "metrics.jsonl").unlink()
    facts = {"format": 1, "glasshouse": "0.1.0", "recipe": "language-model", "status": "new"}
    (run / "run.json").write_text(json.dumps(facts))
    worked(call("report", "tiny"))
    assert "tiny" in worked(call("runs")).out
