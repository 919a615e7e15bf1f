"""The text of a batch script, and what bash does with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glasshouse.launching import batch_script, job_folder
from glasshouse.launching.batch_script import JobRequest, render
from glasshouse.launching.cluster_settings import ClusterSettings

JOB = JobRequest("tiny", job_folder.RUN, "runs/tiny", ["resume", "runs/tiny"])


def test_an_option_that_is_not_set_is_left_to_slurm() -> None:
    script = render(JOB, ClusterSettings(), Path("/logs"))
    assert script.startswith("#!/bin/bash\n#SBATCH --job-name=tiny\n")
    for absent in ("--partition", "--account", "--time", "--gpus", "--mem", "--cpus", "--array", "torch", "srun"):
        assert absent not in script
    for present in ("--requeue", "--open-mode=append", "--signal=B:USR1@90", "--output=/logs/log.txt", "--nodes=1"):
        assert f"#SBATCH {present}\n" in script
    assert f"{sys.executable} -m glasshouse resume runs/tiny &" in script


def test_the_habits_of_a_cluster() -> None:
    settings = ClusterSettings(
        partition="gpu",
        account="me",
        time="1:00:00",
        gpus_per_node=1,
        cpus_per_task=8,
        memory="32G",
        setup=("module load cuda",),
        container="apptainer exec --nv a.sif",
        sbatch=("--constraint=a100",),
    )
    script = render(JOB, settings)
    for option in ("partition=gpu", "account=me", "time=1:00:00", "gpus-per-node=1", "cpus-per-task=8", "mem=32G"):
        assert f"#SBATCH --{option}\n" in script
    assert "#SBATCH --constraint=a100\n\nmodule load cuda\n" in script
    assert "apptainer exec --nv a.sif python3 -m glasshouse resume" in script


def test_several_processes_are_started_by_torchrun() -> None:
    one_node = render(JOB, ClusterSettings(gpus_per_node=4, python="python"))
    assert "python -m torch.distributed.run --standalone --nproc-per-node 4 -m glasshouse resume runs/tiny" in one_node
    assert "srun" not in one_node
    assert "export TORCH_ELASTIC_SHUTDOWN_TIMEOUT=90\n" in one_node
    assert "TORCH" not in render(JOB, ClusterSettings())
    two_nodes = render(JOB, ClusterSettings(nodes=2, gpus_per_node=4, python="python")).replace(" \\\n   ", "")
    assert "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n" in two_nodes
    assert "--cpus-per-task=4 python -m torch.distributed.run --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d" in two_nodes
    assert '--rdzv-endpoint "$head:$port" --rdzv-id "$SLURM_JOB_ID' in two_nodes
    assert """trap 'at_limit=yes; scancel --signal=TERM "$SLURM_JOB_ID"' USR1""" in two_nodes
    assert """trap 'at_limit=yes; kill -TERM "$!"' USR1""" in one_node


def test_words_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["train", "a b", "data.files=[a,b]", "it's"]
    monkeypatch.setenv("GLASSHOUSE_RUNS", "/my runs")
    script = render(JobRequest("tiny", job_folder.COMMAND, "", words), ClusterSettings(), Path("/my logs"))
    assert "train 'a b' 'data.files=[a,b]' 'it'\"'\"'s' &" in script
    assert "export GLASSHOUSE_RUNS='/my runs'" in script
    assert '#SBATCH --output="/my logs/log.txt"' in script


def test_an_array_passes_its_task() -> None:
    job = JobRequest("tiny", job_folder.RUNS, "", ["resume", "{job}"], tasks=range(3))
    script = render(job, ClusterSettings(), Path("/jobs"))
    assert "#SBATCH --array=0-2\n" in script
    assert 'resume /jobs --task "$SLURM_ARRAY_TASK_ID" &' in script
    assert 'scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"' in script
    assert '> "/jobs/exit-status-$SLURM_ARRAY_TASK_ID"' in script


def test_the_tasks_that_prepare_a_text_all_run_the_same_command() -> None:
    job = JobRequest("text", job_folder.PARTS, "", ["data", "prepare", "/my text.txt"], tasks=range(3))
    script = render(job, ClusterSettings())
    assert "prepare '/my text.txt' &" in script
    assert "#SBATCH --array=0-2\n" in script


def test_folders_of_the_environment_are_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in batch_script.FOLDERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GLASSHOUSE_RUNS", "elsewhere")
    assert f"\nexport GLASSHOUSE_RUNS={tmp_path / 'elsewhere'}\n" in render(JOB, ClusterSettings())


def started(tmp_path: Path, command: str, job: JobRequest = JOB) -> "subprocess.Popen[str]":
    """A script whose Python is this shell script, and whose scontrol writes down its arguments."""
    for name, text in (("python", command), ("scontrol", 'echo "$@" > requeued')):
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "job.sh").write_text(render(job, ClusterSettings(python=str(tmp_path / "python")), tmp_path))
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    return subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, env=environment, text=True)


def test_the_exit_status_is_kept(tmp_path: Path) -> None:
    assert started(tmp_path, "exit 3").wait(timeout=30) == 3
    assert (tmp_path / "exit-status").read_text() == "3\n"
    assert not (tmp_path / "requeued").exists()


@pytest.mark.parametrize(("ending", "requeued"), [("exit 143", True), ("exit 0", False)])
def test_at_the_limit_the_command_saves_and_the_job_is_queued_again(tmp_path: Path, ending: str, requeued: bool) -> None:
    """Unless the command has finished its work meanwhile."""
    process = started(tmp_path, f"trap 'sleep 0.2; touch saved; {ending}' TERM; touch ready; while :; do sleep 0.05; done")
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGUSR1)
    assert process.wait(timeout=30) == (143 if requeued else 0)
    assert (tmp_path / "saved").exists()
    assert (tmp_path / "requeued").exists() == requeued
    assert (tmp_path / "exit-status").exists() != requeued
    if requeued:
        assert (tmp_path / "requeued").read_text() == "requeue 7\n"


def test_a_script_by_hand_trains_and_then_resumes(tmp_path: Path) -> None:
    job = JobRequest("tiny", job_folder.RUN, "runs/tiny", ["resume", "runs/tiny"], first=["train", "demo-lm", "a b"])
    assert started(tmp_path, 'printf "%s|" "$@" > said; mkdir -p runs/tiny', job).wait(timeout=30) == 0
    assert (tmp_path / "said").read_text() == "-m|glasshouse|train|demo-lm|a b|"
    assert started(tmp_path, 'printf "%s|" "$@" > said', job).wait(timeout=30) == 0
    assert (tmp_path / "said").read_text() == "-m|glasshouse|resume|runs/tiny|"
