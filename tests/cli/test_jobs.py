"""`glasshouse jobs`, `cancel` and --on slurm on a machine without Slurm. `tests/slurm` has the tests with one."""

from pathlib import Path

import pytest

from glasshouse.launching import job_folder

from .program import SMALL, Outcome, call, folders, refused, some_text, worked

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


def test_a_text_is_prepared_by_an_array_and_a_last_job() -> None:
    prepare = ("data", "prepare", "text.txt", "--vocabulary", "300", "--output", "out dir", "--on", "slurm")
    said = worked(call(*prepare, "--dry-run", "--time", "1:00:00", "--name", "mine")).out
    command = f"data prepare --recipe language-model --output '{Path('out dir').absolute()}' --vocabulary 300 "
    assert said.count(f"{command}{Path('text.txt').absolute()}") == said.count("#SBATCH --time=1:00:00\n") == 2
    assert said.count("#SBATCH --job-name=mine\n") == 2
    assert said.count(f'{Path("text.txt").absolute()} --part "$((SLURM_ARRAY_TASK_ID + 1))/1" &') == 1
    assert said.count("#SBATCH --array=0-0\n") == 1
    refused(call(*prepare), "no-slurm", "sinfo")
    assert folders(Path()) == ["text.txt"]


def test_a_text_that_cannot_be_prepared_is_not_queued() -> None:
    def prepare(*words: str, file: str = "text.txt") -> Outcome:
        return call("data", "prepare", file, "--on", "slurm", *words)

    refused(prepare(file="none.txt"), "unreadable-file", "none.txt")
    refused(prepare("--jobs", "2"), "bad-number-of-jobs", "--jobs=2")
    refused(prepare("--jobs", "0"), "bad-number-of-jobs", "--jobs=0")
    refused(prepare("--part", "1/2"), "part-or-slurm", "1/2")
    refused(prepare("--output", "text.txt"), "output-exists", "text.txt")
    refused(prepare("--output", "text.txt/out"), "cannot-write", "text.txt")
    refused(prepare("--validation", "0.9"), "out-of-range", "data.validation=0.9")
    refused(prepare("--recipe", "classifier"), "wrong-task")
    refused(prepare("--tokenizer", "bite-pair"), "unknown-word", "byte-pair")
    refused(prepare("--tokenizer", "none.json"), "unreadable-tokenizer", "none.json")
    refused(prepare("--time", "soon"), "bad-time", "soon")
    refused(prepare("--name", "a b"), "bad-name", "a b")
    refused(call("data", "prepare", "text.txt", "--time", "1:00:00"), "needs-on-slurm", "--time")
    assert folders(Path()) == ["text.txt"]


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
