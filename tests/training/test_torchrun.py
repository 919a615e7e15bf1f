"""`training.processes`: the processes are started, watched, stopped and explained."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import glasshouse
from glasshouse.records import checkpoint, lock, metric_log, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import Interrupted, RunError, SpecError
from glasshouse.training import torchrun
from tests.refusals import refused
from tests.training.small_runs import DEMO

LONG = ("demo-lm", *DEMO, "model.dropout=0", "training.steps=400", "evaluation.every=20", "training.processes=2")


def wait_for_step(run: Path, step: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        row = metric_log.last_row(run / "metrics.jsonl")
        if row and row["step"] >= step:
            return
        time.sleep(0.05)
    raise AssertionError("the run did not get so far")


def children(process: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_bad_numbers_of_processes_are_refused_before_anything_starts(text, runs):
    with refused(SpecError, "is more than the"):
        glasshouse.train(
            "demo-lm", *DEMO, f"data.files={text}", "training.processes=512", "training.batch=512", device="cpu"
        )
    with refused(SpecError, "choose a multiple of 3"):
        glasshouse.train("demo-lm", *DEMO, "training.processes=3", device="cpu")
    with refused(SpecError):
        glasshouse.train("demo-lm", *DEMO, "training.processes=2", "training.freeze=gradual", device="cpu")
    with refused(SpecError, "training.processes=2"):
        glasshouse.train("scene-clip", "training.processes=2", device="cpu")
    with refused(SpecError, "training.processes=2"):
        glasshouse.train("demo-lm", *DEMO, f"data.files={text}", "training.processes=2", "model.norm=batch", device="cpu")
    assert not list(runs.iterdir())


def test_a_spec_with_one_process_starts_none(text):
    run = run_folder.create(glasshouse.runs.spec_of("demo-lm", *DEMO, f"data.files={text}"), "one", "r")
    assert not torchrun.is_needed([run])
    torchrun.set_processes(run, 2)
    assert torchrun.is_needed([run])
    assert "--nproc-per-node" in torchrun.command([run], 2, "cpu")
    run.record(status="done")
    torchrun.set_processes(run, 1)
    assert run.spec().training.processes == 2, "a finished run says how it was trained"


@pytest.mark.slow
def test_a_signal_stops_all_processes_and_the_run_goes_on(runs):
    def stop() -> None:
        wait_for_step(runs / "stopped", 3)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(Interrupted) as stopped:
        glasshouse.train(*LONG, name="stopped", device="cpu")
    thread.join()
    assert "glasshouse resume stopped" in str(stopped.value)
    assert lock.holder(runs / "stopped") is None
    torchrun.set_processes(RunFolder(runs / "stopped"), 1)
    glasshouse.resume("stopped", "cpu")
    alone = glasshouse.train(*LONG, "training.processes=1", name="alone", device="cpu")
    losses = [
        metric_log.column(metric_log.read(runs / name / "metrics.jsonl"), "loss")[1] for name in ("stopped", alone.name)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


@pytest.mark.slow
def test_a_killed_process_ends_the_run_with_one_message_and_it_goes_on(runs):
    def kill_a_follower() -> None:
        wait_for_step(runs / "killed", 25)
        main = lock.holder(runs / "killed")
        assert main
        launcher = int(Path(f"/proc/{main}/stat").read_text().rpartition(")")[2].split()[1])
        [follower] = [child for child in children(launcher) if child != main and "training.loop" in _command_line(child)]
        os.kill(follower, signal.SIGKILL)

    thread = threading.Thread(target=kill_a_follower)
    thread.start()
    with refused(RunError, "the checkpoint of step 20 is intact", "glasshouse resume killed"):
        glasshouse.train(*LONG, name="killed", device="cpu")
    thread.join()
    resumed = glasshouse.resume("killed", "cpu")
    assert isinstance(resumed, glasshouse.Run)
    assert resumed.facts["status"] == "done"


@pytest.mark.slow
def test_processes_end_with_the_process_that_started_them(runs):
    """Also if it is killed, or if `torchrun` is. They save, and the run goes on."""
    command = [sys.executable, "-m", "glasshouse", "train", *LONG, "training.steps=100000", "--name", "orphans"]
    parent = subprocess.Popen([*command, "--device", "cpu"], stderr=subprocess.DEVNULL)
    saved: list[int] = []
    for victim in ("parent", "launcher"):
        wait_for_step(runs / "orphans", max([0, *saved]) + 3)
        [launcher] = children(parent.pid)
        ranks = [child for child in children(launcher) if "training.loop" in _command_line(child)]
        assert len(ranks) == 2
        os.kill(parent.pid if victim == "parent" else launcher, signal.SIGKILL)
        parent.wait(timeout=60)
        wait_until_gone([launcher, *ranks])
        saved.append(max(checkpoint.steps(runs / "orphans" / "checkpoints")))
        if victim == "parent":
            resume = [sys.executable, "-m", "glasshouse", "resume", "orphans", "--device", "cpu"]
            parent = subprocess.Popen(resume, stderr=subprocess.DEVNULL)
    assert saved[0] < saved[1]


def wait_until_gone(processes: list[int]) -> None:
    deadline = time.monotonic() + 60
    while alive := [process for process in processes if Path(f"/proc/{process}").exists() and not _is_zombie(process)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)


def _is_zombie(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def _command_line(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_text()
