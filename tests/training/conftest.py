"""Fixtures of the training tests: a text, labelled rows, and a pre-trained run."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from glasshouse.runs.run import Run
from glasshouse.training import cost_plan, devices
from tests.training import small_runs


@pytest.fixture(autouse=True)
def quick_training(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute on one thread, which is fastest for models this small, and time as few steps as possible before training."""
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)
    with devices.threads(1):
        yield


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("The state of our union is strong, and we will keep it so for all who come after us.\n" * 60)
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.tsv"
    small_runs.write_labelled_rows(path)
    return path


@pytest.fixture(scope="session")
def pretrained_folder(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A pre-trained run that is trained once and that no test may change."""
    folder = tmp_path_factory.mktemp("pretrained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        return small_runs.pretrain(folder).folder.path


@pytest.fixture
def pretrained(pretrained_folder: Path, runs: Path) -> Run:
    """The test's own copy of the pre-trained run."""
    shutil.copytree(pretrained_folder, runs / "pretrained")
    return Run(runs / "pretrained", "cpu")
