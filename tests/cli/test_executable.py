"""The installed executable: output, errors without a traceback, a closed pipe, environment variables."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from glasshouse.specs.errors import SpecError

from .program import (
    EXECUTABLE,
    TWO_STEPS,
    environment,
    finish,
    folders,
    refused,
    start,
    train,
    worked,
)

# What no command needs at its start, whatever it shows. Each takes from a twentieth of a second to two seconds.
SLOW_IMPORTS = (
    "scipy.special",
    "scipy.stats",
    "scipy.optimize",
    "numba",
    "torch._dynamo",
    "torch._inductor",
    "torch.distributed.fsdp",
    "sympy",
    "sklearn",
    "pandas",
    "pyarrow",
    "transformers",
    "tokenizers",
    "sacrebleu",
    "matplotlib",
    "glasshouse.claims",
    "glasshouse.scaling.scaling_fit",
    "glasshouse.serving",
    "glasshouse.interop",
)
# What a command needs only if it writes a page.
PAGES = ("jinja2", "PIL", "glasshouse.pages", "glasshouse.studies.study_folder", "glasshouse.training.loop")
# Commands from the lightest to the heaviest, and what they may not load besides: what is loaded stays so in a process.
LIGHT_COMMANDS = ("--version", "recipes", "runs")
ANSWERS = ("sample tiny --prompt ba --tokens 2 --device cpu", "evaluate tiny --device cpu", "classify rows baa --device cpu")
REPORTS = ("look tiny --text ba --device cpu", "report tiny")
COUNT_MODULES = """if True:
    import contextlib, io, json, sys
    from glasshouse.cli import main
    for words, slow in json.loads(sys.argv.pop()):
        sys.argv[:] = ["glasshouse", *words]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main()
        assert printed.getvalue(), words
        print(json.dumps([words[0], [name for name in slow if name in sys.modules]]))
"""


def test_the_executable_samples(run: Path) -> None:
    sampled = worked(finish(start("sample", "tiny", "--prompt", "ba", "--tokens", "5")))
    assert sampled.out.startswith("ba")
    assert sampled.err == ""


def test_commands_import_nothing_slow(run: Path, labelled_rows: Path) -> None:
    """A command that opens a model starts in the time of `import torch`; one that opens none does without torch."""
    worked(train(*TWO_STEPS, f"data.files={labelled_rows}", "data.tokenizer=words", name="rows", recipe="classifier"))
    commands = [
        *((line.split(), (*SLOW_IMPORTS, *PAGES, "torch", "numpy")) for line in LIGHT_COMMANDS),
        *((line.split(), (*SLOW_IMPORTS, *PAGES)) for line in ANSWERS),
        *((line.split(), SLOW_IMPORTS) for line in REPORTS),
    ]
    done = subprocess.run(
        [sys.executable, "-c", COUNT_MODULES, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    loaded = [json.loads(line) for line in done.stdout.splitlines()]
    assert loaded == [[words[0], []] for words, _ in commands]


@pytest.mark.slow
def test_garbage_is_collected_again_after_an_import() -> None:
    program = """if True:
        import gc, glasshouse
        for enabled in (True, False):
            gc.enable() if enabled else gc.disable()
            glasshouse.tokenizers if enabled else glasshouse.parts
            print(gc.isenabled())
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


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


@pytest.mark.slow
def test_freed_memory_is_kept_for_the_next_step_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIMALLOC_PURGE_DELAY", raising=False)
    assert purge_delay_of_torch() == "10000"
    assert purge_delay_of_torch(MIMALLOC_PURGE_DELAY="7") == "7"


def test_the_executable_refuses_without_a_traceback(runs: Path) -> None:
    refused(finish(start("recipes", "demo-ml")), SpecError)
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
