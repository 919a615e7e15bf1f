"""A text prepared on a real Slurm with two nodes: the files are those of one process, whatever happens to the jobs."""

import time
from pathlib import Path
from typing import Any

import pytest

from glasshouse.api import corpora
from glasshouse.data import file_summaries
from glasshouse.specs.errors import LaunchError
from tests.cli.program import call, refused, some_text, worked

from .cluster import SlurmCluster
from .submitted import logs, statuses, wait_until, wait_until_ended

pytestmark = pytest.mark.slurm
# A part of the text has 16 MB.
MEGABYTES = 60


@pytest.fixture
def corpus(cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A text of several parts, and a cache with nothing in it."""
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    text = some_text(200_000)
    (tmp_path / "corpus.txt").write_text(text * (MEGABYTES * 1_000_000 // len(text)))
    return tmp_path / "corpus.txt"


def prepare(*words: str, output: str = "out") -> Any:
    return call("data", "prepare", "corpus.txt", "--vocabulary", "300", "--output", output, *words)


def on_slurm(jobs: int, *words: str) -> Any:
    return prepare("--on", "slurm", "--jobs", str(jobs), *words)


def same_as_alone() -> None:
    """Prepare the text here, and check that it gives the same files."""
    worked(prepare(output="alone"))
    contents = [
        {path.name: path.read_bytes() for path in Path(name).iterdir() if path.suffix in (".tokens", ".starts", ".json")}
        for name in ("out", "alone")
    ]
    assert "manifest.json" in contents[0]
    for content in contents:
        del content["manifest.json"]  # it names the file as it was given
    assert contents[0] == contents[1]
    assert not list(Path().glob("*.parts")), "no parts are left"
    assert not list(Path().glob(".*.tmp")), "no unfinished folder is left"


def test_a_text(cluster: SlurmCluster, corpus: Path) -> None:
    said = worked(on_slurm(2)).out
    assert "2 tasks" in said
    assert "glasshouse cancel out" in said
    refused(on_slurm(2), LaunchError, "out")
    assert [status.state for status in wait_until_ended("out")] == ["2 completed"], logs()
    assert statuses("out")[0].progress.endswith("of 4 parts")
    assert "4 of 4 parts" in worked(call("jobs")).out
    same_as_alone()
    assert "nothing is left" in worked(on_slurm(2)).out


def test_what_the_cluster_cannot_run_is_refused(cluster: SlurmCluster, corpus: Path) -> None:
    refused(on_slurm(2, "--partition", "mian"), LaunchError, "mian", "main")
    refused(on_slurm(2, "--time", "3:00:00"), LaunchError, "120 minutes")
    refused(on_slurm(2000), LaunchError, "--jobs=2000")
    assert not Path("jobs").exists()
    assert not list(Path().glob("out*"))


@pytest.mark.slow
def test_a_cancelled_text_goes_on(cluster: SlurmCluster, corpus: Path) -> None:
    """Finished parts are kept."""
    with open("corpus.txt", "a") as file:
        file.write(Path("corpus.txt").read_text() * 5)
    planned = corpora.plan_data(["corpus.txt"], output="out", vocabulary=300)
    worked(on_slurm(2))
    wait_until(lambda: len(planned.missing()) < len(planned.parts), "no part")
    assert "cancelled job" in worked(call("cancel", "out")).out
    assert [status.state for status in wait_until_ended("out")] == ["2 cancelled"], logs()
    done, left = planned.work_folder.glob("part-*"), len(planned.missing())
    kept = {path.name: path.stat().st_ino for path in done}
    assert kept
    worked(on_slurm(2))
    wait_until(lambda: len(planned.missing()) < left or not statuses("out")[-1].active, "no further part")
    now = {path.name: path.stat().st_ino for path in planned.work_folder.glob("part-*")}
    assert kept.items() <= now.items() or not now, "finished parts are kept"
    assert wait_until_ended("out")[-1].state == "2 completed", logs()
    same_as_alone()


@pytest.mark.slow
def test_a_worker_that_fails(cluster: SlurmCluster, corpus: Path) -> None:
    """Its error is shown, and the other encodes what it leaves."""
    time.sleep(file_summaries.SETTLED_SECONDS)
    broken = 'setup = ["[ ${SLURM_ARRAY_TASK_ID:-0} = 1 ] && ulimit -f 8"]\n'  # no file over 8 KB
    Path("mine.toml").write_text(Path("mine.toml").read_text() + broken)
    worked(on_slurm(2))
    wait_until_ended("out")
    assert statuses("out")[0].state == "1 completed, 1 failed"
    assert "File too large" in worked(call("jobs")).out, logs()
    same_as_alone()
