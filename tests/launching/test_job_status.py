"""The state of jobs, from the queue and from their folders."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from glasshouse.launching import job_folder, job_status
from glasshouse.launching.job_folder import JobFolder
from glasshouse.launching.slurm import QueuedJob
from glasshouse.records import metric_log, run_folder
from glasshouse.specs import recipes


@pytest.fixture
def run(runs: Path) -> run_folder.RunFolder:
    return run_folder.create(recipes.spec("demo-lm", []), "tiny", "demo-lm")


def job_of(run: run_folder.RunFolder, kind: str = job_folder.RUN, tasks: Sequence[object] = ()) -> JobFolder:
    job = job_folder.create("tiny", tasks)
    job_folder.record(job, 7, "tiny", kind, str(run.path), ["resume", "tiny"], len(tasks), 0)
    return job


def queued(state: str, task: int = -1, id: int = 7, name: str = "tiny") -> QueuedJob:
    return QueuedJob(id, task, state, "1:00", "Priority", name)


def test_progress_of_a_run(run: run_folder.RunFolder) -> None:
    job = job_of(run)
    status = job_status.status_of(job, [queued("PENDING")])
    assert (status.state, status.progress, status.left, status.active) == ("pending", "not started", "waits: Priority", True)
    run.record(plan={"steps": 100, "tokens": 6400, "flops": 10**6})
    metric_log.append(run.metrics_file, {"step": 20, "loss": 1.0, "seconds": 5.0})
    status = job_status.status_of(job, [queued("RUNNING")])
    assert (status.state, status.progress, status.left) == ("running", "step 20 of 100, 20 s left", "1:00")
    assert status.log == job.log()


def test_a_job_that_slurm_has_forgotten(run: run_folder.RunFolder) -> None:
    job = job_of(run)
    assert job_status.status_of(job, []).state == "ended"
    other = [queued("RUNNING", id=8), queued("RUNNING", name="another")]
    (job.path / "exit-status").write_text("2")
    job.log().write_text("glasshouse: no memory [out-of-memory]\n")
    status = job_status.status_of(job, other)
    assert (status.state, status.error, status.active) == ("failed", "glasshouse: no memory [out-of-memory]", False)
    (job.path / "exit-status").write_text("0")
    assert job_status.status_of(job, other).state == "completed"


def test_the_tasks_of_an_array(run: run_folder.RunFolder) -> None:
    entry = {"run": str(run.path), "name": "a", "branch_of": None}
    job = job_of(run, job_folder.RUNS, [[[entry]], [[entry, entry]], []])
    job.log(1).write_text("glasshouse: stop [x]\n")
    (job.path / "exit-status-0").write_text("0")
    status = job_status.status_of(job, [queued("FAILED", 1), queued("RUNNING", 2)])
    assert status.state == "1 completed, 1 failed, 1 running"
    assert (status.progress, status.error, status.log) == ("0 of 3 runs", "glasshouse: stop [x]", job.log(1))
    run.record(status="done")
    assert job_status.status_of(job, []).progress == "3 of 3 runs"


def test_the_parts_of_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_folder.create("text")
    job_folder.record(job, 7, "tiny", job_folder.PARTS, "/prepared", ["data", "prepare"], 2, 0)
    job_folder.record_parts(tmp_path / "parts", "part-*", 3)
    assert job_status.status_of(job, []).progress == "", "this is no job"
    monkeypatch.setenv(job_folder.INSIDE, str(job.path))
    job_folder.record_parts(tmp_path / "parts", "part-*", 3)
    (tmp_path / "parts" / "part-0").mkdir(parents=True)
    assert job_status.status_of(job, []).progress == "1 of 3 parts"
    job_folder.record_parts(tmp_path / "other", "part-*", 9)
    (tmp_path / "parts" / "part-0").rmdir()
    (tmp_path / "parts").rmdir()
    assert job_status.status_of(job, []).progress == "3 of 3 parts", "they are joined"


def test_a_cancelled_job_is_no_error(run: run_folder.RunFolder) -> None:
    job = job_of(run)
    job.log().write_text("glasshouse: stopped [interrupted]\n")
    assert job_status.status_of(job, [queued("CANCELLED")]).error == ""
    assert job_status.status_of(job, [queued("OUT_OF_MEMORY")]).state == "out of memory"


def test_a_deleted_run(run: run_folder.RunFolder) -> None:
    job = job_of(run)
    run.delete_if_new()
    assert job_status.status_of(job, []).progress == "deleted"


def test_without_slurm_the_folders_tell(run: run_folder.RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert job_status.read_all() == []
    job_of(run)
    monkeypatch.setenv("PATH", "/nowhere")
    assert [status.state for status in job_status.read_all()] == ["ended"]
