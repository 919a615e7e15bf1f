"""The installed executable: output, errors without a traceback, a closed pipe, environment variables."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .program import (
    EXECUTABLE,
    environment,
    finish,
    folders,
    refused,
    start,
    worked,
)

# What a command that samples, classifies or translates does not need.
SLOW_IMPORTS = (
    "scipy.stats",
    "scipy.optimize",
    "torch._dynamo",
    "sympy",
    "sklearn",
    "pandas",
    "sacrebleu",
    "jinja2",
    "matplotlib",
    "glasshouse.pages",
    "glasshouse.studies",
    "glasshouse.training.loop",
)


def test_the_executable_samples(run: Path) -> None:
    sampled = worked(finish(start("sample", "tiny", "--prompt", "ba", "--tokens", "5")))
    assert sampled.out.startswith("ba")
    assert sampled.err == ""


def test_a_command_that_opens_a_model_imports_nothing_slow(run: Path) -> None:
    """Each of these takes from a tenth of a second to two seconds. numba, which encodes byte pairs, imports scipy."""
    program = (
        "import atexit, sys; sys.argv[0] = 'glasshouse'; from glasshouse.cli import main; "
        f"atexit.register(lambda: print('LOADED', [name for name in {SLOW_IMPORTS} if name in sys.modules])); main()"
    )
    words = ("sample", "tiny", "--prompt", "ba", "--tokens", "2", "--device", "cpu")
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout.endswith("LOADED []\n")


def purge_delay_of_torch(**variables: str) -> str:
    """How many milliseconds the allocator of torch keeps freed memory, in a process that imports glasshouse first."""
    report = subprocess.run(
        [sys.executable, "-c", "import glasshouse, torch"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(MIMALLOC_VERBOSE="1", **variables),
    ).stderr
    delays = [line.split("'purge_delay':")[1].strip() for line in report.splitlines() if "'purge_delay':" in line]
    if not delays:
        pytest.skip("this build of torch does not allocate with mimalloc")
    return delays[0]


def test_freed_memory_is_kept_for_the_next_step_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIMALLOC_PURGE_DELAY", raising=False)
    assert purge_delay_of_torch() == "10000"
    assert purge_delay_of_torch(MIMALLOC_PURGE_DELAY="7") == "7"


def test_the_executable_refuses_without_a_traceback(runs: Path) -> None:
    refused(finish(start("recipes", "demo-ml")), "unknown-recipe")
    assert folders(runs) == []


def test_a_closed_pipe_is_no_fault() -> None:
    command = f"{shlex.quote(str(EXECUTABLE))} recipes demo-lm | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_names_may_be_given_through_the_environment(tmp_path: Path, finished: Path) -> None:
    done = finish(start("runs", env=environment(GLASSHOUSE_RUNS=str(finished.parent))))
    assert "tiny" in worked(done).out
