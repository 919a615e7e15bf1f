"""Ctrl-C while modules are imported, which may catch what is raised in them."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from glasshouse import interrupts
from tests.cli.program import finish, start, wait_until

SWALLOWING = """
import signal
try:
    signal.raise_signal(signal.SIGINT)
except BaseException:
    pass
"""
IGNORED = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
PROGRAM = "from glasshouse import interrupts; interrupts.install(); import swallowing; print('went on')"


def run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    (folder / "swallowing.py").write_text(SWALLOWING)
    # Tests that a shell starts in the background have it ignored.
    reset = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, preexec_fn=reset)


def test_a_module_that_catches_what_is_raised_does_not_go_on(tmp_path):
    ended = run(tmp_path, PROGRAM)
    assert (ended.returncode, ended.stdout, ended.stderr) == (interrupts.EXIT_STATUS, "", f"{interrupts.MESSAGE}\n")


def test_what_is_ignored_stays_ignored(tmp_path):
    ended = run(tmp_path, IGNORED + PROGRAM)
    assert (ended.returncode, ended.stdout) == (0, "went on\n")


def test_otherwise_it_is_an_exception():
    with pytest.raises(KeyboardInterrupt):
        interrupts.interrupt(signal.SIGINT, None)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="which libraries are loaded is read from /proc")
def test_a_command_that_loads_torch(runs):
    process = start("train", "demo-lm", "training.steps=1000", "--device", "cpu")
    wait_until(lambda: "libtorch" in Path(f"/proc/{process.pid}/maps").read_text(), process)
    process.send_signal(signal.SIGINT)
    outcome = finish(process)
    assert (outcome.code, outcome.err) == (interrupts.EXIT_STATUS, f"{interrupts.MESSAGE}\n")
