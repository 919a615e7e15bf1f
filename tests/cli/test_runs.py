"""`glasshouse runs`."""

import re
from pathlib import Path

from .program import (
    call,
    worked,
)


def test_runs(run: Path) -> None:
    shown = worked(call("runs")).out
    assert re.search(r"tiny\s+done\s+8\s", shown)


def test_runs_without_any(runs: Path) -> None:
    assert "glasshouse demo" in worked(call("runs")).out
