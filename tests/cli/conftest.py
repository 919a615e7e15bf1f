"""One tiny run for the whole session, trained once; a test that changes it gets a copy."""

import shutil
from pathlib import Path

import pytest

from .program import some_text, train, worked

# Two checkpoints before the last one stay: the best by validation, which is the last evaluation's, and the one before.
STEPS = ("training.steps=8", "training.checkpoint_every=2", "evaluation.every=4")


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file of a few pages."""
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text(some_text())
    return file


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, text: Path) -> Path:
    """The folder of a finished run; not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        worked(train(*STEPS, f"data.files={text}"))
    return folder / "tiny"


@pytest.fixture
def run(finished: Path, runs: Path) -> Path:
    """The test's own copy of the finished run, which its commands find by the name `tiny`."""
    return shutil.copytree(finished, runs / "tiny")
