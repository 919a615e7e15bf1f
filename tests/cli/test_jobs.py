"""`glasshouse jobs`, `cancel` and --on slurm on a machine without Slurm. `tests/slurm` has the tests with one."""

from pathlib import Path

import pytest

from glasshouse.launching import job_folder
from glasshouse.specs.errors import GlasshouseError, LaunchError, RunError

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
    refused(call(*TRAIN, "--on", "slurm"), LaunchError, "sinfo")
    refused(call("compare", "demo-lm", "model.norm=layer,rms", "--on", "slurm"), LaunchError)
    assert folders(runs) == folders(Path("jobs")) == folders(Path("studies")) == []


def test_a_dry_run_prints_the_script(runs: Path) -> None:
    said = worked(call(*TRAIN, "--on", "slurm", "--dry-run", "--time", "1:00:00")).out
    assert "#SBATCH --time=1:00:00\n" in said
    assert f"glasshouse resume {runs}/language-model --device cpu &" in said
    assert folders(runs) == folders(Path("jobs")) == []


def test_a_text_is_prepared_by_an_array_of_the_same_command() -> None:
    prepare = ("data", "prepare", "text.txt", "--vocabulary", "300", "--output", "out dir", "--on", "slurm")
    said = worked(call(*prepare, "--dry-run", "--time", "1:00:00", "--name", "mine")).out
    command = f"data prepare --recipe language-model --output '{Path('out dir').absolute()}' --vocabulary 300 "
    assert said.count(f"{command}-- {Path('text.txt').absolute()} &") == said.count("#SBATCH --time=1:00:00\n") == 1
    assert said.count("#SBATCH --job-name=mine\n") == said.count("#SBATCH --array=0-0\n") == 1
    assert "#SBATCH --array=0-3\n" in worked(call(*prepare, "--dry-run", "--jobs", "4")).out
    refused(call(*prepare), LaunchError, "sinfo")
    assert folders(Path()) == ["text.txt"]


def test_a_text_that_cannot_be_prepared_is_not_queued() -> None:
    def prepare(*words: str, file: str = "text.txt") -> Outcome:
        return call("data", "prepare", file, "--on", "slurm", *words)

    refused(prepare(file="none.txt"), GlasshouseError, "none.txt")
    refused(prepare("--jobs", "2000"), LaunchError, "--jobs=2000")
    refused(prepare("--jobs", "0"), LaunchError, "--jobs=0")
    refused(prepare("--output", "text.txt"), GlasshouseError, "text.txt")
    refused(prepare("--output", "text.txt/out"), GlasshouseError, "text.txt")
    refused(prepare("--validation", "0.9"), GlasshouseError, "validation=0.9")
    refused(prepare("--recipe", "classifier"), GlasshouseError)
    refused(prepare("--tokenizer", "bite-pair"), GlasshouseError, "byte-pair")
    refused(prepare("--tokenizer", "none.json"), GlasshouseError, "none.json")
    refused(prepare("--time", "soon"), LaunchError, "soon")
    refused(prepare("--name", "a b"), RunError, "a b")
    refused(call("data", "prepare", "text.txt", "--time", "1:00:00"), GlasshouseError, "--time")
    assert folders(Path()) == ["text.txt"]


def test_options_of_a_cluster_need_a_cluster() -> None:
    refused(call(*TRAIN, "--nodes", "2"), GlasshouseError, "--nodes")
    refused(call("resume", "tiny", "--time", "1:00"), GlasshouseError, "--time")
    refused(call("compare", "demo-lm", "model.norm=layer,rms", "--jobs", "2"), GlasshouseError, "--jobs")
    refused(call("sweep", "demo-lm", "model.layers=1..3", "--dry-run"), GlasshouseError, "--dry-run")


def test_no_jobs() -> None:
    assert "no jobs" in worked(call("jobs")).out
    refused(call("cancel", "tiny"), LaunchError, "tiny")


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
    refused(call("cancel", "tiny"), LaunchError, "tiny")


def test_a_task_that_is_not_there() -> None:
    job_folder.create("tiny", [[], []])
    refused(call("resume", "jobs/tiny-1", "--task", "2"), LaunchError, "--task=2")
    refused(call("resume", "jobs/tiny-2", "--task", "0"), LaunchError, "jobs/tiny-2")
    worked(call("resume", "jobs/tiny-1", "--task", "1", "--device", "cpu"))
