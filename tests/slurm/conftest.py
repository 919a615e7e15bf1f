"""A Slurm for the session, and what each test needs to submit to it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import glasshouse
from glasshouse.training import cost_plan
from tests import needs
from tests.cli.program import some_text

from .cluster import SlurmCluster, missing_programs


@pytest.fixture(scope="session")
def slurm_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    if missing_programs():
        needs.skip("slurm")
    cluster = SlurmCluster(tmp_path_factory.mktemp("slurm"))
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(slurm_of_the_session: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    """The Slurm, found by the commands of the test; its folders are the test's own."""
    for name, value in slurm_of_the_session.environment.items():
        monkeypatch.setenv(name, value)
    for name in ("GLASSHOUSE_STUDIES", "GLASSHOUSE_JOBS", "GLASSHOUSE_JOB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(glasshouse.__file__).parent.parent))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("GLASSHOUSE_CLUSTER", str(tmp_path / "mine.toml"))
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 2)
    (tmp_path / "mine.toml").write_text(f'time = "10"\npython = "{sys.executable}"\n')
    (tmp_path / "text.txt").write_text(some_text())
    return slurm_of_the_session
