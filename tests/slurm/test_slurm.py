"""Runs and studies on a real Slurm with two nodes: they end as on one machine, whatever happens to their jobs."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from glasshouse.claims import trials
from glasshouse.claims.language_models import slurm_training
from glasshouse.launching import submission
from glasshouse.launching.batch_script import JobRequest
from glasshouse.launching.cluster_settings import load
from glasshouse.specs.errors import GlasshouseError, LaunchError
from tests.cli.program import call, checkpoints, logged_steps, losses, refused, weights, worked
from tests.cli.study_commands import POSITIONS, TINY, results

from .cluster import SlurmCluster
from .submitted import CPU, STEPS, logs, statuses, train, wait_until, wait_until_ended

pytestmark = pytest.mark.slurm
LONG = ("training.steps=3000", "evaluation.every=1000", "training.checkpoint_every=200")


def same_as_alone(name: str, *words: str) -> None:
    """Train the same run here, and check that it has the same losses and the same weights, bit for bit."""
    worked(train("alone", *words, on=False))
    assert losses(Path("runs", name)) == losses(Path("runs/alone"))
    assert weights(Path("runs", name)) == weights(Path("runs/alone"))


def study(name: str, *words: str, kind: str = "compare") -> list[str]:
    return [kind, "language-model", *TINY, "data.files=text.txt", POSITIONS, *words, "--name", name, *CPU]


def found(name: str) -> dict[str, Any]:
    """What a study found, without its name and its command."""
    return {key: value for key, value in results(Path("studies", name)).items() if key not in ("name", "command")}


def test_a_run(cluster: SlurmCluster, runs: Path) -> None:
    said = worked(train("tiny", *STEPS)).out
    assert "job " in said
    [status] = wait_until_ended("tiny")
    assert (status.state, status.error) == ("completed", ""), logs()
    assert status.progress == "step 20 of 20, done"
    shown = worked(call("jobs")).out
    assert "tiny-1" in shown
    assert "completed" in shown
    same_as_alone("tiny", *STEPS)


def test_a_study_is_an_array_and_a_last_job(cluster: SlurmCluster) -> None:
    command = study("apart", "--seeds", "2", "--replicas", "off")
    worked(call(*command, "--on", "slurm", "--jobs", "3"))
    assert [status.state for status in wait_until_ended("apart")] == ["3 completed", "completed"], logs()
    assert len(json.loads(Path("jobs/apart-1/tasks.json").read_text())) == 3
    worked(call(*study("here", "--seeds", "2", "--replicas", "off")))
    assert found("apart") == found("here")
    assert worked(call(*command, "--on", "slurm")).out.count("studies/apart/report.html") == 1, "nothing is left to submit"


def test_a_job_that_fails(cluster: SlurmCluster) -> None:
    worked(train("wild", *STEPS, "training.learning_rate=1e30", "training.clip=0"))
    [status] = wait_until_ended("wild")
    assert status.state == "failed"
    assert "not finite" in status.error, logs()
    shown = worked(call("jobs")).out
    assert "not finite" in shown
    assert "jobs/wild-1/log.txt" in shown


def test_cancel_saves(cluster: SlurmCluster, runs: Path) -> None:
    worked(train("long", "training.steps=200000", "evaluation.every=100000"))
    wait_until(lambda: logged_steps(runs / "long") > 5, "no steps")
    refused(call("resume", "long", "--on", "slurm", *CPU), LaunchError, "long")
    assert "cancelled job" in worked(call("cancel", "long")).out
    [status] = wait_until_ended("long")
    assert status.state == "cancelled"
    wait_until(lambda: bool(checkpoints(runs / "long")), "nothing was saved")
    refused(call("cancel", "long"), LaunchError, "long")


def test_what_the_cluster_cannot_run_is_refused(cluster: SlurmCluster, runs: Path) -> None:
    refused(train("a", *STEPS, "--partition", "mian"), LaunchError, "mian", "main")
    refused(train("a", *STEPS, "--time", "3:00:00"), LaunchError, "main", "120 minutes")
    refused(train("a", *STEPS, "--time", "soon"), LaunchError, "soon")
    refused(train("a", *STEPS, "--nodes", "4"), LaunchError, "4 nodes")
    refused(train("a", *STEPS, "--gpus-per-node", "1"), LaunchError, "GPUs")
    refused(train("a", *STEPS, "data.files=missing.txt"), GlasshouseError, "missing.txt")
    refused(call(*study("a"), "--on", "slurm", "--partition", "mian"), LaunchError)
    refused(call("cancel", "a"), LaunchError, "a")
    assert not list(Path("jobs").glob("*"))
    assert not list(runs.glob("*"))


def test_a_script_that_is_submitted_by_hand(cluster: SlurmCluster, runs: Path) -> None:
    words = ("language-model", *TINY, "data.files=text.txt", "--name", "by-hand", *CPU)
    Path("job.sh").write_text(worked(call("sbatch", *words)).out)
    for _ in range(2):  # the second time there is nothing left to do
        done = subprocess.run(["sbatch", "--wait", "job.sh"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done, [path.read_text() for path in Path().glob("slurm-*.out")])
    assert json.loads((runs / "by-hand" / "run.json").read_text())["status"] == "done"


def train_past_the_limit(runs: Path, processes: str, *where: str) -> None:
    """Train a run that does not end within the time limit of its job, and check that it ends as one that was left alone."""
    worked(train("speed", processes, "training.steps=300", "evaluation.every=300", on=False))
    seconds_per_step = json.loads((runs / "speed" / "run.json").read_text())["outcome"]["seconds"] / 300
    with open("mine.toml", "a") as file:
        file.write("save_seconds = 55\n")
    # Slurm sends the signal 5 to 65 seconds after the start. A machine that is less busy by then may end a run before that.
    for seconds in (75, 225, 675):
        name, words = f"of-{seconds}", ("evaluation.every=1000000", f"training.steps={int(seconds / seconds_per_step)}")
        worked(train(name, *words, *where, "--time", "2"))
        [status] = wait_until_ended(name)
        assert status.state == "completed", logs()
        if "[interrupted]" in Path(f"jobs/{name}-1/log.txt").read_text():
            return same_as_alone(name, *words, processes)
    pytest.fail(f"no run reached the time limit: {logs()}")


@pytest.mark.slow
def test_the_time_limit(cluster: SlurmCluster, runs: Path) -> None:
    """The run saves on the signal, is queued again, and ends bit by bit as one that was left alone."""
    train_past_the_limit(runs, "training.processes=1")


@pytest.mark.slow
@pytest.mark.parametrize("where", [("training.processes=2",), ("--nodes", "2")], ids=["one node", "two nodes"])
def test_the_time_limit_of_two_processes(cluster: SlurmCluster, runs: Path, where: tuple[str, ...]) -> None:
    """Both processes save at the same step, the job is queued again, and the run ends as one that was left alone."""
    train_past_the_limit(runs, "training.processes=2", *where)


@pytest.mark.slow
@pytest.mark.parametrize("where", [("training.processes=2",), ("--nodes", "2")], ids=["one node", "two nodes"])
def test_cancel_saves_two_processes(cluster: SlurmCluster, runs: Path, where: tuple[str, ...]) -> None:
    worked(train("long", "training.steps=200000", "evaluation.every=100000", *where))
    wait_until(lambda: logged_steps(runs / "long") > 5, "no steps")
    worked(call("cancel", "long"))
    assert wait_until_ended("long")[0].state == "cancelled"
    wait_until(lambda: bool(checkpoints(runs / "long")), "nothing was saved")


@pytest.mark.slow
def test_the_time_limit_of_a_task(cluster: SlurmCluster) -> None:
    """One task of an array is queued again by itself, and the last job still waits for it.

    Task 0 is told to save as at its limit, before its run ends; it has the number of the whole array.
    """
    steps = ("training.steps=1000", "evaluation.every=500", "--seeds", "2", "--replicas", "off")
    worked(call(*study("apart", *steps), "--on", "slurm", "--jobs", "2"))
    [[first], *_] = json.loads(Path("jobs/apart-1/tasks.json").read_text())[0]
    wait_until(lambda: logged_steps(Path(first["run"])) > 5, "no steps")
    number = statuses("apart")[0].id
    subprocess.run(["scancel", "--signal=USR1", "--batch", f"{number}_0"], check=True)
    assert [status.state for status in wait_until_ended("apart")] == ["2 completed", "completed"], logs()
    assert Path("jobs/apart-1/log-0.txt").read_text().count("[interrupted]") == 1, logs()
    worked(call(*study("here", *steps)))
    assert found("apart") == found("here")


@pytest.mark.slow
def test_a_node_that_dies(cluster: SlurmCluster, runs: Path) -> None:
    """Slurm queues the job again, and the run goes on from its last checkpoint on the other node."""
    worked(train("long", *LONG))
    wait_until(lambda: bool(checkpoints(runs / "long")), "no checkpoint")
    queue = subprocess.run(["squeue", "-h", "-n", "long", "-o", "%N"], capture_output=True, text=True, check=True)
    node = queue.stdout.strip()
    cluster.kill_node(node)
    try:
        [status] = wait_until_ended("long")
        assert status.state == "completed", logs()
    finally:
        cluster.start_node(node)
        wait_until(lambda: cluster.idle_nodes() == 2, "the node did not come back")
    same_as_alone("long", *LONG)


@pytest.mark.slow
def test_tuning_comes_first(cluster: SlurmCluster) -> None:
    """The comparison depends on the tuning, so the last job of the first array submits the second."""
    words = ("--seeds", "2", "--replicas", "2", "--tune", "training.learning_rate=1e-3,1e-2")
    worked(call(*study("apart", *words), "--on", "slurm"))
    wait_until(lambda: (Path("studies/apart/report.html")).exists(), "no report")
    assert [status.state for status in wait_until_ended("apart")][1::2] == ["completed", "completed"], logs()
    worked(call(*study("here", *words)))
    assert found("apart") == found("here")


@pytest.mark.slow
def test_a_task_that_fails_ends_the_study(cluster: SlurmCluster) -> None:
    """The last job does not start, and the same command trains what is left."""
    command = [*study("apart", "--seeds", "2", "--replicas", "off"), "--on", "slurm"]
    os.rename("mine.toml", "good.toml")
    Path("mine.toml").write_text(Path("good.toml").read_text() + 'setup = ["[ $SLURM_ARRAY_TASK_ID = 1 ] && exit 3"]\n')
    worked(call(*command))
    wait_until(lambda: statuses("apart")[1].state == "cancelled", "the last job still waits")
    assert Path("studies/apart").is_dir()
    os.replace("good.toml", "mine.toml")
    worked(call(*command))
    assert [status.state for status in wait_until_ended("apart")][2:] == ["completed", "completed"], logs()


@pytest.mark.slow
def test_torchrun_starts_on_two_nodes(cluster: SlurmCluster) -> None:
    settings = load(nodes=2)
    submission.submit(JobRequest("pair", "command", "", ["recipes"]), settings)
    [status] = wait_until_ended("pair")
    assert status.state == "completed", logs()
    assert Path("jobs/pair-1/log.txt").read_text().count("demo-lm ") == 1, "rank 0 runs the command, and the other follows"


@pytest.mark.slow
def test_a_run_on_two_nodes(cluster: SlurmCluster, runs: Path) -> None:
    worked(train("pair", *STEPS, "--nodes", "2"))
    wait_until(lambda: not statuses("pair")[0].active, "the run on two nodes has not ended")
    assert [status.state for status in statuses("pair")] == ["completed"], logs()
    facts = json.loads((runs / "pair" / "run.json").read_text())
    assert (facts["status"], facts["parallel"]) == ("done", "replicate")
    assert "processes = 2" in (runs / "pair" / "spec.toml").read_text()


@pytest.mark.slow
def test_the_claim(cluster: SlurmCluster) -> None:
    """The jobs of a quick trial end as runs that are trained directly; one of them was watched and cancelled."""
    measured = trials.try_claim("slurm", quick=True, device="cpu").trials[-1].measured
    assert measured is not None
    steps = measured.series["step"].values.values()
    assert all(0 < step < slurm_training.STEPS for step in steps)
    for part in slurm_training.SlurmTraining.parts:
        assert set(measured.series[part.quantity].values.values()) == {0.0}, part.quantity
