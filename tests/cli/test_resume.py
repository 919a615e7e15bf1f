"""`glasshouse resume` of a run."""

import shutil
from pathlib import Path

from .program import (
    checkpoints,
    resume,
    weights,
    worked,
)


def test_resume_of_a_finished_run_says_so(run: Path) -> None:
    before = weights(run)
    outcome = worked(resume())
    assert "it has taken all of its 8 steps" in outcome.err
    assert weights(run) == before


def test_resume_goes_on(run: Path, finished: Path) -> None:
    shutil.rmtree(checkpoints(run)[-1])
    outcome = worked(resume())
    assert "step 8/8" in outcome.err
    assert weights(run) == weights(finished)
