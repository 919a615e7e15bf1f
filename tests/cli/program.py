"""The program as the tests use it: called in this process or started as another, and what to expect of an error."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from glasshouse.cli import main

EXECUTABLE = Path(sys.executable).with_name("glasshouse")
# Starting torch takes seconds, on a busy machine many of them.
PATIENCE = 120.0

SMALL = (
    "model.width=16",
    "model.layers=2",
    "model.heads=2",
    "model.feed_forward=32",
    "data.vocabulary=300",
    "data.context=16",
    "training.batch=4",
    "training.precision=fp32",
    "training.threads=1",
    "training.threads=1",
    "evaluation.sample_tokens=4",
    "evaluation.prompts=[ba]",
)


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit status and what it printed on each stream."""

    code: int
    out: str
    err: str


def call(*arguments: str) -> Outcome:
    """Run a command in this process, through the same `main` as the executable; a traceback counts as exit status 1."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", ["glasshouse", *arguments]):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        except BaseException:
            code = 1
            traceback.print_exc()
    return Outcome(code if isinstance(code, int) else int(code is not None), out.getvalue(), err.getvalue())


def start(*arguments: str | bytes, **options: Any) -> subprocess.Popen[str]:
    """Start the executable, as a person would: SIGINT reaches it, although a shell may have the tests' own ignore it."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heard = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen([EXECUTABLE, *arguments], **pipes, **{"preexec_fn": heard, **options})


def finish(process: subprocess.Popen[str], timeout: float = PATIENCE) -> Outcome:
    """Wait for a started program; one that takes too long is ended."""
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
        process.wait()
    return Outcome(process.returncode, out, err)


def wait_until(reached: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Look every few milliseconds until it is so, while the program lives."""
    end = time.monotonic() + PATIENCE
    while not reached():
        assert process.poll() is None, f"it ended first: {finish(process)}"
        assert time.monotonic() < end, "it was never so"
        time.sleep(0.002)


def worked(outcome: Outcome) -> Outcome:
    """The outcome of a command that did what was asked."""
    assert outcome.code == 0, outcome.err
    assert "Traceback" not in outcome.err
    return outcome


def refused(outcome: Outcome, code: str, *values: str) -> str:
    """The one message of a command that would not do it: of this code, and naming each of these values."""
    assert "Traceback" not in outcome.err, outcome.err
    assert outcome.code == 2, outcome
    messages = [line for line in outcome.err.splitlines() if line.startswith("glasshouse: ")]
    assert len(messages) == 1, outcome.err
    assert outcome.err.splitlines()[-1] == messages[0], "the message is the last thing printed, on one line"
    assert messages[0].endswith(f" [{code}]"), messages[0]
    for value in values:
        assert value in messages[0], f"{value!r} is not in: {messages[0]}"
    return messages[0]


def train(*overrides: str, name: str = "tiny", recipe: str = "language-model") -> Outcome:
    """Train something very small on the CPU."""
    return call("train", recipe, *SMALL, *overrides, "--name", name, "--device", "cpu")


def resume(run: str | Path = "tiny") -> Outcome:
    return call("resume", str(run), "--device", "cpu")


def folders(runs: Path) -> list[str]:
    """Everything in the runs folder, hidden or not."""
    return sorted(path.name for path in runs.iterdir()) if runs.exists() else []


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted((run / "checkpoints").glob("step-*"))


def weights(run: Path) -> bytes:
    """The newest weights of a run as they lie on the disk."""
    return (checkpoints(run)[-1] / "model.safetensors").read_bytes()


def losses(run: Path) -> list[dict[str, float]]:
    """What a run logged, without what clocks say."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: row[name] for name in row if name not in ("seconds", "tokens_per_second")} for row in rows]


def logged_steps(run: Path) -> int:
    """How many lines the metric log has by now."""
    try:
        return (run / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def change_facts(run: Path, **facts: Any) -> None:
    """Change what run.json says; None takes a fact away."""
    file = run / "run.json"
    changed = {**json.loads(file.read_text()), **facts}
    file.write_text(json.dumps({name: value for name, value in changed.items() if value is not None}))


def some_text(words: int = 4000, seed: int = 0, separators: str = "       \n") -> str:
    """Text of made-up words, the same for the same seed; some words are much more frequent than others."""
    chance = random.Random(seed)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeiou"]
    known = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(300)]
    return "".join(known[int(300 * chance.random() ** 3)] + chance.choice(separators) for _ in range(words))


def environment(**changes: str) -> dict[str, str]:
    """This process's environment with changes."""
    return {**os.environ, **changes}
