"""Runs that cannot be found, created or used: names, versions, locks, occupied folders, changed data."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import GlasshouseError, RunError

from .program import (
    SMALL,
    TWO_STEPS,
    call,
    change_facts,
    checkpoints,
    folders,
    refused,
    resume,
    some_text,
    train,
    train_on_file,
    weights,
    worked,
)


@pytest.mark.parametrize("command", ["resume", "evaluate", "sample", "report", "replay"])
def test_an_unknown_run(run: Path, command: str) -> None:
    refused(call(command, "tinny"), RunError, "'tinny'", "'tiny'")
    refused(call(command, "no/where"), RunError, "'no/where'")
    refused(call(command, "."), GlasshouseError, "spec.toml")


def test_an_unknown_run_where_there_is_none(runs: Path) -> None:
    refused(call("sample", "tiny"), RunError, "'tiny'")


@pytest.mark.parametrize("command", ["resume", "evaluate", "sample", "report", "replay"])
def test_a_run_from_a_newer_version(run: Path, command: str) -> None:
    change_facts(run, format=99)
    refused(call(command, "tiny"), GlasshouseError, "99", "--upgrade")
    worked(call("runs"))


def test_an_existing_name(run: Path, text: Path, finished: Path) -> None:
    refused(train_on_file(str(text)), RunError, "'tiny'", "--name")
    assert weights(run) == weights(finished)


@pytest.mark.parametrize("name", ["../x", ".hidden", "a b", "a/b", "-x", "x" * 200, "é"])
def test_a_bad_name(runs: Path, text: Path, name: str) -> None:
    outcome = call("train", "language-model", *SMALL, *TWO_STEPS, f"data.files={text}", f"--name={name}")
    refused(outcome, RunError, repr(name))
    assert folders(runs) == []
    assert not Path("x").exists()


def test_a_run_in_use(run: Path, finished: Path) -> None:
    shutil.rmtree(checkpoints(run)[-1])
    with RunFolder(run).locked():
        refused(resume(), RunError, str(os.getpid()), "--name")
        worked(call("sample", "tiny", "--tokens", "2"))
    worked(resume())
    assert weights(run) == weights(finished)


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Fail, and not hang, where what is tested goes round in circles."""

    def stop(*_: object) -> None:
        pytest.fail(f"it took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_file_where_the_runs_folder_should_be(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("occupied").write_text("")
    monkeypatch.setenv("GLASSHOUSE_RUNS", "occupied")
    with no_longer_than(seconds=20):
        refused(call("train", "language-model", *SMALL, *TWO_STEPS, f"data.files={text}"), RunError, "GLASSHOUSE_RUNS")
        refused(train_on_file(str(text)), RunError, "GLASSHOUSE_RUNS")
    assert Path("occupied").read_text() == ""


def test_a_file_where_the_cache_should_be(runs: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("occupied").write_text("")
    monkeypatch.setenv("GLASSHOUSE_CACHE", "occupied")
    refused(train_on_file(str(text)), RunError, "GLASSHOUSE_CACHE")
    assert folders(runs) == []


def test_a_text_that_has_changed_since(run: Path, runs: Path) -> None:
    Path("mine.txt").write_text(some_text(seed=5))
    worked(train("training.steps=2", "data.files=mine.txt", name="mine"))
    shutil.rmtree(checkpoints(runs / "mine")[-1])
    Path("mine.txt").write_text(some_text(seed=6))
    refused(resume("mine"), GlasshouseError)
    Path("mine.txt").unlink()
    refused(resume("mine"), GlasshouseError, "mine.txt")
