"""Very small trainings for a cluster, and how a test follows their jobs."""

import time
from collections.abc import Callable
from pathlib import Path

import glasshouse
from glasshouse.launching.job_status import JobStatus
from tests.cli.program import SMALL, Outcome, call

# A job waits for its turn, imports torch and trains; the machine may be busy.
TIMEOUT = 900.0
CPU = ("--device", "cpu")
# On this text a step takes a few milliseconds.
STEPS = ("training.steps=20", "evaluation.every=10")


def train(name: str, *words: str, on: bool = True) -> Outcome:
    """Train something very small, on the cluster or here."""
    where = ("--on", "slurm") if on else ()
    return call("train", "language-model", *SMALL, "data.files=text.txt", "--name", name, *CPU, *where, *words)


def statuses(name: str) -> list[JobStatus]:
    """The jobs of a run or a study, oldest first."""
    return [status for status in glasshouse.cluster.jobs() if status.name == name]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, f"timeout: {what}; {glasshouse.cluster.jobs()}; {logs()}"
        time.sleep(0.5)


def wait_until_ended(name: str) -> list[JobStatus]:
    """Wait until no job of this name is left in the queue."""
    wait_until(lambda: bool(found := statuses(name)) and not any(job.active for job in found), f"{name} has not ended")
    return statuses(name)


def logs() -> str:
    """All logs, for the message of a test that fails."""
    return "\n".join(f"{path}: {path.read_text()}" for path in sorted(Path("jobs").glob("*/log*.txt")))
