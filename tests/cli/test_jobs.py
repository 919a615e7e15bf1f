"""`glasshouse jobs`, `cancel` and --on slurm on a machine without Slurm. `tests/slurm` has the tests with one."""

from pathlib import Path

import pytest

from glasshouse.launching import job_folder

from .program import SMALL, call, folders, refused, some_text, worked

TRAIN = ("train", "language-model", *SMALL, "data.files=text.txt", "--device", "cpu")


@pytest.fixture(autouse=True)
def without_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Slurm on the path, no cluster file, a text to train on."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("GLASSHOUSE_CLUSTER", "GLASSHOUSE_JOBS", "GLASSHOUSE_STUDIES"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "text.txt").write_text(some_text(100))


def test_without_slurm_nothing_is_left_behind(runs: Path) -> None:
    refused(call(*TRAIN, "--on", "slurm"), "no-slurm", "sinfo")
    refused(call("compare", "demo-lm", "model.norm=layer,rms", "--on", "slurm"), "no-slurm")
    assert folders(runs) == folders(Path("jobs")) == folders(Path("studies")) == []


def test_a_dry_run_prints_the_script(runs: Path) -> None:
    said = worked(call(*TRAIN, "--on", "slurm", "--dry-run", "--time", "1:00:00")).out
    assert "#SBATCH --time=1:00:00\n" in said
    assert f"glasshouse resume {runs}/language-model --device cpu &" in said
    assert folders(runs) == folders(Path("jobs")) == []


def test_options_of_a_cluster_need_a_cluster() -> None:
    refused(call(*TRAIN, "--nodes", "2"), "needs-on-slurm", "--nodes")
    refused(call("resume", "tiny", "--time", "1:00"), "needs-on-slurm", "--time")
    refused(call("compare", "demo-lm", "model.norm=layer,rms", "--jobs", "2"), "needs-on-slurm", "--jobs")
    refused(call("sweep", "demo-lm", "model.layers=1..3", "--dry-run"), "needs-on-slurm", "--dry-run")


def test_no_jobs() -> None:
    assert "no jobs" in worked(call("jobs")).out
    refused(call("cancel", "tiny"), "no-such-job", "tiny")


def test_jobs_that_have_ended() -> None:
    job = job_folder.create("tiny")
    job_folder.record(job, 7, "tiny", job_folder.COMMAND, "", ["claim", "nmt"], 0, 0)
    (job.path / "exit-status").write_text("2")
    job.log().write_text("glasshouse: the disk is full [cannot-use-file]\n")
    shown = worked(call("jobs", "--watch")).out
    assert "failed" in shown
    assert "the disk is full" in shown
    assert "jobs/tiny-1/log.txt" in shown
    assert "tiny-1" not in worked(call("jobs", "--active")).out
    refused(call("cancel", "tiny"), "no-such-job", "tiny")


def test_a_task_that_is_not_there() -> None:
    job = job_folder.create("tiny")
    job_folder.write_tasks(job, [[], []])
    refused(call("resume", "jobs/tiny-1", "--task", "2"), "no-such-task", "--task=2")
    refused(call("resume", "jobs/tiny-2", "--task", "0"), "no-such-job", "jobs/tiny-2")
    worked(call("resume", "jobs/tiny-1", "--task", "1", "--device", "cpu"))
