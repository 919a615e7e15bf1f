"""Helpers for tests of the command line: run a command in this process or in another, and check its outcome."""

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

from glasshouse import cli
from glasshouse.cli import main
from glasshouse.specs.errors import GlasshouseError

EXECUTABLE = Path(sys.executable).with_name("glasshouse")
# Seconds to wait for a process: importing torch is slow on a busy machine.
TIMEOUT = 120.0

# Overrides for a very small model.
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
    "evaluation.sample_tokens=4",
    "evaluation.prompts=[ba]",
)
TWO_STEPS = ("training.steps=2", "evaluation.every=2")


@dataclass(frozen=True)
class Outcome:
    """The exit status of a command, its output, and the class of its error if it ran in this process."""

    code: int
    out: str
    err: str
    error: type[GlasshouseError] | None = None


def call(*arguments: str) -> Outcome:
    """Run a command in this process, with the same `main` as the executable; an exception gives the exit status 1."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    kinds: list[type[GlasshouseError]] = []
    print_error = cli.print_error

    def told(error: GlasshouseError) -> None:
        kinds.append(type(error))
        print_error(error)

    words = mock.patch.object(sys, "argv", ["glasshouse", *arguments])
    with mock.patch.object(cli, "print_error", told), redirect_stdout(out), redirect_stderr(err), words:
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        except BaseException:
            code = 1
            traceback.print_exc()
    status = code if isinstance(code, int) else int(code is not None)
    return Outcome(status, out.getvalue(), err.getvalue(), next(iter(kinds), None))


def start(*arguments: str | bytes, **options: Any) -> subprocess.Popen[str]:
    """Start the executable in another process. SIGINT has its default action there, even if the tests ignore it."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    reset_sigint = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen([EXECUTABLE, *arguments], **pipes, **{"preexec_fn": reset_sigint, **options})


def finish(process: subprocess.Popen[str], timeout: float = TIMEOUT) -> Outcome:
    """Wait for a process to end; it is killed after the timeout."""
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
        process.wait()
    return Outcome(process.returncode, out, err)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until the condition holds; fail if the process ends before."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None, f"the process ended first: {finish(process)}"
        assert time.monotonic() < end, "timeout"
        time.sleep(0.002)


def worked(outcome: Outcome) -> Outcome:
    """Check that a command succeeded."""
    assert outcome.code == 0, outcome.err
    assert "Traceback" not in outcome.err
    return outcome


def refused(outcome: Outcome, kind: type[Exception], *values: str) -> str:
    """Check that a command failed with one message, of an error of this class, that contains these values; return it."""
    assert "Traceback" not in outcome.err, outcome.err
    assert outcome.code == 2, outcome
    messages = [line for line in outcome.err.splitlines() if line.startswith("glasshouse: ")]
    assert len(messages) == 1, outcome.err
    assert outcome.err.splitlines()[-1] == messages[0], "the message must be the last line"
    assert outcome.error is None or issubclass(outcome.error, kind), outcome.error
    for value in values:
        assert value in messages[0], f"{value!r} is not in: {messages[0]}"
    return messages[0]


def train(*overrides: str, name: str = "tiny", recipe: str = "language-model") -> Outcome:
    """Train a very small model on the CPU."""
    return call("train", recipe, *SMALL, *overrides, "--name", name, "--device", "cpu")


def train_on_file(name: str, *overrides: str) -> Outcome:
    """Train a very small model on a file for two steps."""
    return train(*TWO_STEPS, f"data.files={name}", *overrides)


def resume(run: str | Path = "tiny") -> Outcome:
    """Resume a run on the CPU."""
    return call("resume", str(run), "--device", "cpu")


def folders(runs: Path) -> list[str]:
    """The names in a folder, including hidden ones; empty if the folder does not exist."""
    return sorted(path.name for path in runs.iterdir()) if runs.exists() else []


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted((run / "checkpoints").glob("step-*"))


def weights(run: Path) -> bytes:
    """The bytes of the newest weights of a run."""
    return (checkpoints(run)[-1] / "model.safetensors").read_bytes()


def losses(run: Path) -> list[dict[str, float]]:
    """The logged metrics of a run, without times."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: row[name] for name in row if name not in ("seconds", "tokens_per_second")} for row in rows]


def logged_steps(run: Path) -> int:
    """The number of lines in the metric log."""
    try:
        return (run / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def change_facts(run: Path, **facts: Any) -> None:
    """Change values in run.json; None removes a value."""
    file = run / "run.json"
    changed = {**json.loads(file.read_text()), **facts}
    file.write_text(json.dumps({name: value for name, value in changed.items() if value is not None}))


def some_text(words: int = 4000, seed: int = 0, separators: str = "       \n") -> str:
    """Random text of invented words with very different frequencies; the same seed gives the same text."""
    generator = random.Random(seed)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeiou"]
    vocabulary = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(300)]
    return "".join(vocabulary[int(300 * generator.random() ** 3)] + generator.choice(separators) for _ in range(words))


def environment(**changes: str) -> dict[str, str]:
    """The environment of this process with these changes."""
    return {**os.environ, **changes}


def truncate_file(file: Path) -> None:
    """Remove the second half of a file."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
