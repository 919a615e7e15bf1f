"""A run that is stopped, gently or not, and continued ends with the same bits as one that was left alone."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from glasshouse.training import loop, replica_count
from glasshouse.training.signals import catch_signals

from .program import (
    SMALL,
    Outcome,
    checkpoints,
    finish,
    logged_steps,
    losses,
    resume,
    start,
    train,
    wait_until,
    weights,
    worked,
)

# Characters, because a new process has them at once; byte pairs bring a compiler with them.
LONG = ("data.tokenizer=characters", "training.steps=80", "training.checkpoint_every=10", "evaluation.every=20")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, text: Path) -> Path:
    """The run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        worked(train(*LONG, f"data.files={text}"))
    return folder / "tiny"


@pytest.fixture
def started(runs: Path, text: Path, alone: Path) -> subprocess.Popen[str]:
    """The same run, just started by another process."""
    arguments = (*SMALL, *LONG, f"data.files={text}", "--name", "tiny", "--device", "cpu")
    return start("train", "language-model", *arguments)


def assert_same(run: Path, alone: Path) -> None:
    assert weights(run) == weights(alone)
    assert losses(run) == losses(alone)


def interrupt(process: subprocess.Popen[str], number: signal.Signals) -> Outcome:
    process.send_signal(number)
    return finish(process)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_signal_while_training(
    runs: Path, started: subprocess.Popen[str], alone: Path, number: signal.Signals, code: int
) -> None:
    run = runs / "tiny"
    wait_until(lambda: logged_steps(run) >= 25, started)
    outcome = interrupt(started, number)
    assert "Traceback" not in outcome.err, outcome.err
    assert outcome.code == code
    assert number.name in outcome.err
    assert "continue with: glasshouse resume tiny" in outcome.err
    reached = int(checkpoints(run)[-1].name.removeprefix("step-"))
    assert 20 < reached < 80
    assert f"stopped and saved after step {reached} of 80" in outcome.err
    assert "Traceback" not in worked(resume()).err
    assert_same(run, alone)


def test_a_signal_too_late_for_this_step_stops_after_the_next(
    runs: Path, text: Path, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when it is already decided that step 25 is not saved."""
    look = loop._Loop._read_results

    def signalled(self: loop._Loop) -> None:
        look(self)
        if self.step == 25:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(loop._Loop, "_read_results", signalled)
    outcome = train(*LONG, f"data.files={text}")
    assert outcome.code == 143
    assert "stopped and saved after step 26 of 80" in outcome.err
    assert checkpoints(runs / "tiny")[-1].name.endswith("26")
    monkeypatch.undo()
    worked(resume(runs / "tiny"))
    assert_same(runs / "tiny", alone)


@pytest.mark.slow
def test_a_signal_before_the_first_step(runs: Path, started: subprocess.Popen[str], alone: Path) -> None:
    wait_until(lambda: (runs / "tiny" / "run.json").exists(), started)
    outcome = interrupt(started, signal.SIGINT)
    assert "Traceback" not in outcome.err, outcome.err
    assert outcome.code == 130
    worked(resume())
    assert_same(runs / "tiny", alone)


def folder_exists(run: Path) -> bool:
    return run.exists()


def a_checkpoint_is_being_written(run: Path) -> bool:
    """Or has just been written, where the disk is too fast to see it."""
    return any((run / "checkpoints").glob(".step-*")) or len(checkpoints(run)) >= 2


def all_steps_are_taken(run: Path) -> bool:
    return (run / "checkpoints" / "step-00000080").exists()


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(folder_exists, marks=pytest.mark.slow),
        a_checkpoint_is_being_written,
        pytest.param(all_steps_are_taken, marks=pytest.mark.slow),
    ],
)
def test_a_kill(runs: Path, started: subprocess.Popen[str], alone: Path, moment: object) -> None:
    run = runs / "tiny"
    wait_until(lambda: moment(run), started)
    outcome = interrupt(started, signal.SIGKILL)
    assert outcome.code == -signal.SIGKILL
    worked(resume())
    assert_same(run, alone)
    assert list((run / "checkpoints").glob(".*")) == [], "what the killed process left unfinished is gone"


@pytest.mark.slow
def test_replicas_that_are_stopped_go_on_together(runs: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is measured to be faster may differ from one time to the next, and its rounding with it.
    monkeypatch.setattr(replica_count, "choose", lambda jobs, together: (len(jobs), ""))
    replicas = (*LONG, f"data.files={text}", "training.replicas=2", "training.seed=5")
    look = loop._Loop._read_results

    def signalled(self: loop._Loop) -> None:
        look(self)
        if self.step == 25:
            signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Loop, "_read_results", signalled)
        outcome = train(*replicas)
    assert outcome.code == 130
    assert "continue with: glasshouse resume tiny-seed-5" in outcome.err
    worked(resume("tiny-seed-6"))
    worked(train(*replicas, name="whole"))
    for seed in (5, 6):
        assert_same(runs / f"tiny-seed-{seed}", runs / f"whole-seed-{seed}")
    assert "has taken all" not in worked(resume("tiny-seed-6")).err


def test_a_family_goes_on_without_those_that_were_deleted(runs: Path, text: Path) -> None:
    worked(train(*LONG, f"data.files={text}", "training.replicas=2", "training.steps=20"))
    shutil.rmtree(runs / "tiny-seed-0")
    worked(resume("tiny-seed-1"))


def test_who_begins_to_watch_after_a_signal_knows_of_it() -> None:
    with catch_signals() as outer:
        signal.raise_signal(signal.SIGTERM)
        with catch_signals() as inner:
            assert outer.received == inner.received == signal.SIGTERM
    with catch_signals() as later:
        assert later.received is None
