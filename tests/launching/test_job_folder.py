"""The job folder: names, what is recorded, and the error in a log."""

import shutil
from pathlib import Path

import pytest

from glasshouse.launching import job_folder
from glasshouse.specs.errors import LaunchError, RunError
from tests.refusals import refused


@pytest.fixture(autouse=True)
def jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_JOBS", raising=False)


def recorded(name: str, id: int) -> job_folder.JobFolder:
    job = job_folder.create(name)
    job_folder.record(job, id, name, job_folder.RUN, "/runs/tiny", ["resume", "tiny"], 0, 0)
    return job


def test_jobs_are_numbered_and_listed() -> None:
    assert job_folder.all_jobs() == []
    first, second = recorded("tiny", 5), recorded("tiny", 6)
    assert [job.name for job in job_folder.all_jobs()] == ["tiny-1", "tiny-2"]
    record = job_folder.find("tiny-2").record()
    assert (record.id, record.kind, record.command, record.tasks) == (6, "run", ("resume", "tiny"), 0)
    assert job_folder.find(second.path) == second
    assert job_folder.next_path("tiny").name == "tiny-3"
    shutil.rmtree(first.path)
    assert [job.name for job in job_folder.all_jobs()] == ["tiny-2"]


def test_what_is_no_job_is_refused() -> None:
    with refused(LaunchError, "tiny-1"):
        job_folder.find("tiny-1")
    job = recorded("tiny", 5)
    (job.path / "job.json").write_text("{}")
    with refused(LaunchError, "tiny-1"):
        job.record()
    (job.path / "tasks.json").write_text("[")
    with refused(LaunchError, "tasks.json"):
        job.tasks()
    with refused(RunError, "a b"):
        job_folder.create("a b")


def test_a_folder_that_cannot_be_made() -> None:
    Path("jobs").write_text("a file")
    with refused(RunError, "jobs"):
        job_folder.create("tiny")


@pytest.mark.parametrize(
    ("log", "error"),
    [
        ("step 1\nglasshouse: no such file [x]\nslurmstepd goodbye\n", "glasshouse: no such file [x]"),
        ("Traceback\n  File a\nKeyError: 'a'\n", "KeyError: 'a'"),
        ("torch.OutOfMemoryError: CUDA\nsrun: error: n1: task 0\n", "torch.OutOfMemoryError: CUDA"),
        ("glasshouse: stopped [interrupted]\nslurmstepd-n1: error: oom-kill\nbye\n", "slurmstepd-n1: error: oom-kill"),
        ("glasshouse: in use [in-use]\ntorch.a.ChildFailedError: \nsrun: error: n1\n", "glasshouse: in use [in-use]"),
        ("step 1\n\nstep 2\n\n", "step 2"),
        ("", ""),
    ],
)
def test_the_last_error_of_a_log(log: str, error: str) -> None:
    job = recorded("tiny", 5)
    assert job.last_error() == ""
    job.log().write_text(log)
    assert job.last_error() == error


def test_the_exit_status() -> None:
    job = recorded("tiny", 5)
    assert job.exit_status() is None
    (job.path / "exit-status").write_text("2\n")
    (job.path / "exit-status-3").write_text("0\n")
    assert (job.exit_status(), job.exit_status(3), job.exit_status(4)) == (2, 0, None)
