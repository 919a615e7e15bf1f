"""Every benchmark runs: its `--smoke`, a few seconds on a CPU. No time is checked here."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests import needs

ROOT = Path(__file__).parents[2]
# The packages that a benchmark compares with.
PEERS = {
    "tokenizer_speed": ["rustbpe", "tiktoken"],
    "certificates": ["transformers"],
    "training_speed": ["transformers"],
    "fine_tuning": ["transformers", "tokenizers"],
}
# These start no other process and change nothing outside their own module: they run here, without importing torch again.
IN_PROCESS = ("attention_cost", "replica_speed", "training_speed")
# These take several seconds.
SLOW = (
    "certificates",
    "classifiers",
    "corpus_preparation",
    "fault_injection",
    "fine_tuning",
    "generation",
    "hostile",
    "index_pages",
    "ingredients",
    "number_formats",
    "own_data",
    "replica_speed",
    "same_results",
    "serving",
    "step_profile",
    "time_to_loss",
    "tokenizer_speed",
    "training_memory",
    "training_speed",
    "transfer_intervals",
    "verdict_errors",
)
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))


def test_there_are_benchmarks() -> None:
    assert "training_speed" in BENCHMARKS


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in BENCHMARKS]
)
def test_smoke(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for peer in PEERS.get(name, ()):
        needs.package(peer)
    script = ROOT / "benchmarks" / f"{name}.py"
    if name in IN_PROCESS:
        threads = torch.get_num_threads()
        monkeypatch.setattr(sys, "argv", [str(script), "--smoke"])
        runpy.run_path(str(script), run_name="__main__")
        torch.set_num_threads(threads)
        assert capsys.readouterr().out.strip()
        return
    command = [sys.executable, script, "--smoke"]
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
