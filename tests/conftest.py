"""What every test gets: runs and a current folder of its own, and a cache that the whole session shares."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Beside other workers a test computes on one thread; so do the programs that it starts."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ["OMP_NUM_THREADS"] = "1"
        import torch

        torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for the session (under xdist, for the worker): a tokenizer is trained once and found by later tests."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_CACHE", str(folder))
        patch.delenv("GLASSHOUSE_MIRROR", raising=False)
        # Tables and help are as wide as on a wide terminal, and without colours, wherever the tests run.
        patch.setenv("COLUMNS", "200")
        patch.setenv("NO_COLOR", "1")
        patch.setenv("_TYPER_FORCE_DISABLE_TERMINAL", "1")
        yield folder


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_cache: Path) -> Path:
    """The test's own runs folder, not made yet; the current folder is the test's own too."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder
