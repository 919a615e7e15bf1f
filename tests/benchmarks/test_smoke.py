"""Every benchmark runs: its `--smoke`, a few seconds on a CPU. No time is checked here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

ROOT = Path(__file__).parents[2]
# The packages that a benchmark compares with.
PEERS = {"tokenizer_speed": ["rustbpe", "tiktoken"], "certificates": ["transformers"], "training_speed": ["transformers"]}
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))


def test_there_are_benchmarks() -> None:
    assert "training_speed" in BENCHMARKS


@pytest.mark.parametrize("name", BENCHMARKS)
def test_smoke(name: str, tmp_path: Path) -> None:
    for peer in PEERS.get(name, ()):
        needs.package(peer)
    command = [sys.executable, ROOT / "benchmarks" / f"{name}.py", "--smoke"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.strip(), "a benchmark prints what it measured"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_first_lines_name_the_commands(name: str) -> None:
    """The module docstring of each script shows how to run it."""
    start = (ROOT / "benchmarks" / f"{name}.py").read_text()[:1500]
    assert f"python benchmarks/{name}.py" in start
    assert f"python benchmarks/{name}.py --smoke" in start
