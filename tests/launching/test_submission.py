"""A job that is refused leaves nothing behind; work is not queued twice."""

from pathlib import Path

import pytest

from glasshouse.launching import job_folder, submission
from glasshouse.launching.batch_script import JobRequest
from glasshouse.launching.cluster_settings import ClusterSettings
from glasshouse.specs.errors import LaunchError
from tests.refusals import refused

REQUEST = JobRequest("norms", job_folder.RUNS, "/studies/norms", ["resume", "{job}"], [[], []])


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv("GLASSHOUSE_JOBS", raising=False)
    monkeypatch.delenv(job_folder.INSIDE, raising=False)
    return folder


def pretend(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_a_refused_job_leaves_nothing(programs: Path) -> None:
    pretend(programs, "sbatch", "exit 1")
    with refused(LaunchError):
        submission.submit(REQUEST, ClusterSettings())
    assert list(Path("jobs").iterdir()) == []


def test_a_job_is_recorded_with_its_script(programs: Path) -> None:
    pretend(programs, "sbatch", "echo 12")
    job = submission.submit(REQUEST, ClusterSettings(), after=11)
    record = job.record()
    assert (record.id, record.tasks, record.after, record.work) == (12, 2, 11, "/studies/norms")
    script = job.script.read_text()
    assert f"resume {job.path} --task" in script
    assert f"export {job_folder.INSIDE}={job.path}\n" in script
    assert f"#SBATCH --output={job.path}/log-%a.txt\n" in script
    assert job.tasks() == [[], []]


def test_work_is_not_queued_twice(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(programs, "sbatch", "echo 12")
    pretend(programs, "squeue", "echo '12|0|RUNNING|1:00|None|norms'")
    job = submission.submit(REQUEST, ClusterSettings())
    with refused(LaunchError, "norms", "12"):
        submission.refuse_second(REQUEST)
    submission.refuse_second(JobRequest("norms", job_folder.RUNS, "/other/norms", []))
    submission.refuse_second(JobRequest("norms", job_folder.COMMAND, "", ["compare"]))
    monkeypatch.setenv(job_folder.INSIDE, str(job.path))
    submission.refuse_second(REQUEST)
    monkeypatch.delenv(job_folder.INSIDE)
    pretend(programs, "squeue", "echo '12|0|COMPLETED|0:00|None|norms'")
    submission.refuse_second(REQUEST)
