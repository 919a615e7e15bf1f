"""Buttons of a live page: which are possible, and what they start."""

import time
from pathlib import Path
from typing import ClassVar

import pytest

from glasshouse.records import lock
from glasshouse.records.run_entries import RunEntryReader
from glasshouse.records.status import Status
from glasshouse.serving import run_commands
from glasshouse.specs.errors import RunError
from tests.records.example_folders import make_run, make_study
from tests.refusals import refused


def test_what_is_possible_follows_from_the_status(tmp_path: Path) -> None:
    reader = RunEntryReader()
    done, running = make_run(tmp_path / "done"), make_run(tmp_path / "running", status=Status.TRAINING)
    (done.path / "checkpoints").mkdir()
    assert run_commands.possible(reader.read(done.path)) == ("report",)
    assert run_commands.possible(reader.read(running.path)) == ("resume",)
    with running.locked():
        assert run_commands.possible(reader.read(running.path)) == ("stop",)
        running.ask_to_stop()
        assert run_commands.possible(reader.read(running.path)) == ()
    (done.path / "run.json").write_text("{")
    assert run_commands.possible(reader.read(done.path)) == ()


def test_a_run_of_a_study_in_training_is_left_to_the_study(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s", finished=False)
    run = make_run(study / "more" / "seed-0", status=Status.TRAINING)
    with lock.hold(study, ""), refused(RunError, "seed-0"):
        run_commands.act("resume", RunEntryReader().read(run.path), study)


class Unended:
    """A process that was started and has not ended until `returncode` is set."""

    started: ClassVar[list["Unended"]] = []

    def __init__(self, *arguments: object, **options: object) -> None:
        self.returncode: int | None = None
        self.started.append(self)

    def wait(self) -> None:
        """Return at once: this process is no process."""


def test_a_button_that_is_pressed_twice_starts_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_commands.subprocess, "Popen", Unended)
    study, reader = make_study(tmp_path / "s", finished=False), RunEntryReader()
    paths = [study / "more" / "seed-0", study / "more" / "seed-1"]
    first, second = [reader.read(make_run(path, status=Status.TRAINING).path) for path in paths]
    assert "resume" in run_commands.possible(second)
    run_commands.act("resume", first, study)
    # The study is resumed as a whole, so its other runs are not resumed beside it.
    for run in (first, second):
        assert "resume" not in run_commands.possible(run)
        with refused(RunError, f"glasshouse resume was started for {run.name} already"):
            run_commands.act("resume", run, study)
    assert len(Unended.started) == 1
    Unended.started[0].returncode = 0
    run_commands.act("resume", second, study)
    assert len(Unended.started) == 2


@pytest.mark.slow
def test_the_output_of_a_command_is_kept_also_its_refusal(tmp_path: Path) -> None:
    """The run has no data, so it cannot be resumed; the page shows why."""
    run = make_run(tmp_path / "a", steps=6, status=Status.TRAINING)
    (run.path / "spec.toml").write_text("task = 3\n")
    run_commands.act("resume", RunEntryReader().read(run.path))
    for _ in range(600):
        if "]" in run_commands.output(run.path):
            break
        time.sleep(0.1)
    assert run_commands.output(run.path).splitlines()[0] == "$ glasshouse resume a"
    assert "glasshouse: " in run_commands.output(run.path)


@pytest.mark.slow
def test_a_command_that_ended_leaves_the_list_of_processes(tmp_path: Path) -> None:
    process = run_commands._start("runs", tmp_path / "nothing", tmp_path)
    for _ in range(600):
        if process.returncode is not None:  # `poll` would wait for it
            break
        time.sleep(0.1)
    assert process.returncode == 2
