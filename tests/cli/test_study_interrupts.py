"""A study that is killed, stopped or started twice ends with the same results as one that was left alone."""

import json
import random
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import RunError
from glasshouse.studies import run_queue, study_request
from glasshouse.studies.study_planning import StudyRequest
from glasshouse.training import loop

from .program import (
    call,
    finish,
    refused,
    start,
    wait_until,
    worked,
)
from .study_commands import ALONE, POSITIONS, TINY, compare, results

pytestmark = pytest.mark.usefixtures("short_trials")


def killed_and_continued(short_text: Path, chance: int, *how: str) -> dict[str, Any]:
    """What a study found that was killed at a moment of chance and continued, but for its name."""
    folder = Path("studies/killed")
    words = ("language-model", *TINY, f"data.files={short_text}", POSITIONS, "--seeds", "3", "--name", "killed", *how)
    process = start("compare", *words)
    lines = random.Random(chance).randrange(1, 6 * 6)

    def logged() -> int:
        return sum(path.read_bytes().count(b"\n") for path in folder.glob("*/seed-*/metrics.jsonl"))

    wait_until(lambda: logged() >= lines, process)
    process.send_signal(signal.SIGKILL)
    assert finish(process).code == -signal.SIGKILL
    killed = without_times(worked(call("compare", *words)).out)
    table, found = without_times((folder / "table.md").read_text()), nameless(folder)
    # The same question again, from the start and left alone.
    shutil.rmtree(folder)
    assert without_times(worked(call("compare", *words)).out) == killed
    assert without_times((folder / "table.md").read_text()) == table
    return found


def without_times(text: str) -> str:
    """A table without its times, and without the widths of columns, which follow from them."""
    return re.sub(r"[-\s\u2500]+", " ", re.sub(r"[\d.,]+ (ms|s|min)\b", "TIME", text))


def nameless(study: Path) -> dict[str, Any]:
    return {name: value for name, value in results(study).items() if name not in ("name", "command")}


CHANCES = range(1, 5)


@pytest.mark.slow
@pytest.mark.parametrize("chance", CHANCES)
def test_a_kill_at_a_random_moment(study: Path, short_text: Path, chance: int) -> None:
    assert killed_and_continued(short_text, chance, *ALONE) == nameless(study)


@pytest.mark.slow
@pytest.mark.parametrize("chance", CHANCES)
def test_a_kill_of_replicas_at_a_random_moment(study: Path, short_text: Path, chance: int) -> None:
    how = ("model.dropout=0.2", "--replicas", "3", "--device", "cpu")
    words = ("language-model", *TINY, f"data.files={short_text}", POSITIONS, "--seeds", "3", "--name", "whole", *how)
    worked(call("compare", *words))
    assert killed_and_continued(short_text, chance, *how) == nameless(Path("studies/whole"))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_signal(study: Path, short_text: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int) -> None:
    """It comes in the third of six runs."""
    look, looked = loop._Loop._read_results, []

    def signalled(self: loop._Loop) -> None:
        look(self)
        looked.append(self.step)
        if looked.count(1) == 3 and self.step == 1:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(loop._Loop, "_read_results", signalled)
        outcome = compare(short_text, POSITIONS, "--seeds", "3", "--name", "stopped")
    assert outcome.code == code
    message = outcome.err.splitlines()[-1]
    assert "stopped with 2 of 6 runs done, all saved; continue with: glasshouse resume studies/stopped" in message
    assert "Traceback" not in outcome.err
    assert "interrupted" in worked(call("studies")).out
    worked(call("resume", "studies/stopped", "--device", "cpu"))
    assert results(Path("studies/stopped"))["arms"] == results(study)["arms"]


def test_a_signal_between_two_runs(short_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, trained = run_queue._train, []

    def signalled(group: Any, device: str) -> None:
        train(group, device)
        trained.append(group)
        if len(trained) == 2:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(run_queue, "_train", signalled)
    outcome = compare(short_text, POSITIONS, "--seeds", "2", "--name", "stopped")
    assert outcome.code == 143
    assert "stopped with 2 of 4 runs done" in outcome.err


def test_two_at_once(study: Path, short_text: Path) -> None:
    from glasshouse.studies.study_folder import StudyFolder

    with StudyFolder(study).locked():
        refused(compare(short_text, POSITIONS, "--seeds", "4", "--name", "positions"), RunError, "--name")
        refused(call("resume", "positions", "--device", "cpu"), RunError)
        assert "training" in worked(call("studies")).out
        worked(call("report", "positions"))


def test_the_same_begun_twice_at_once(study: Path, short_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second did not see the study when it looked first, and finds it when it would make it."""
    before, look, looks = results(study), study_request.find, []

    def late(request: StudyRequest) -> Any:
        looks.append(request)
        return (None, "positions") if len(looks) == 1 else look(request)

    monkeypatch.setattr(study_request, "find", late)
    assert "asks the same question" in worked(compare(short_text, POSITIONS, "--seeds", "3", "--name", "positions")).err
    assert len(looks) == 2
    assert results(study) == before


def test_an_unfinished_run_is_done_and_a_missing_one_too(study: Path, short_text: Path) -> None:
    before = results(study)
    RunFolder(study / "none/seed-0").record(status="training")
    shutil.rmtree(study / "learned/seed-2")
    facts = json.loads((study / "study.json").read_text())
    (study / "study.json").write_text(json.dumps({**facts, "finished": False}))
    assert "4/6" in worked(call("studies")).out
    assert "interrupted" in worked(call("studies")).out
    worked(call("resume", "positions", "--device", "cpu"))
    assert results(study) == before
