"""Kills training with SIGKILL at random moments, resumes it, and compares what comes out with a run left alone.

    python benchmarks/fault_injection.py --count 50
    python benchmarks/fault_injection.py --smoke       # does it run? One kill of a very short run

A moment is drawn evenly over the whole duration of a run, from the appearance of its folder to its end, so that every phase
is hit in proportion to its length. A third of the runs start with an empty cache, so that tokenizer training and the writing
of shards are killed too; in a third, the resumed process is killed as well. A run is lost where resuming fails, or where the
final weights differ in any bit or the logged losses in any digit from those of the run left alone. Exits with 1 if any is.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from glasshouse.cli.tables import console, show
from glasshouse.records import checkpoint, progress_bar

STEPS = 60
SPEC = (
    "model.width=16",
    "model.layers=2",
    "model.heads=2",
    "model.feed_forward=32",
    "data.vocabulary=300",
    "data.context=64",
    "training.batch=48",
    "training.threads=1",
    f"training.steps={STEPS}",
    "training.checkpoint_every=5",
    "evaluation.every=10",
    "evaluation.batch=128",
    "evaluation.tokens=40000",
    "evaluation.stride=64",
    "evaluation.sample_tokens=20",
)
PHASES = (
    "reading, tokenizer, shards",
    "planning",
    "before the first step",
    "a step",
    "evaluation",
    "writing a checkpoint",
    "final evaluation",
    "report",
    "after the end",
)
# Longer than any run takes, on the slowest machine we know.
PATIENCE = 600.0


@dataclass
class Place:
    """Where one run lives: its own runs folder, and a cache that may be its own."""

    runs: Path
    cache: Path
    overrides: ClassVar[tuple[str, ...]] = ()

    @property
    def run(self) -> Path:
        return self.runs / "run"

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start the program. One thread: so small a model gains nothing from more, and moments are easier to hit."""
        environment = {
            **os.environ,
            "GLASSHOUSE_RUNS": str(self.runs),
            "GLASSHOUSE_CACHE": str(self.cache),
            "OMP_NUM_THREADS": "1",
        }
        executable = Path(sys.executable).with_name("glasshouse")
        with open(self.runs.parent / f"{self.runs.name}.log", "ab") as log:
            return subprocess.Popen([executable, *arguments], env=environment, stdout=log, stderr=log)

    def train(self) -> subprocess.Popen[bytes]:
        return self.start("train", "demo-lm", *SPEC, *self.overrides, "--name", "run", "--device", "cpu")

    def resume(self) -> subprocess.Popen[bytes]:
        return self.start("resume", "run", "--device", "cpu")

    def wait_until_begun(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the process holds the run, or has ended: before that, torch is being imported."""
        while process.poll() is None and not (self.run.exists() and self._holder() in ("", str(process.pid))):
            time.sleep(0.001)

    def _holder(self) -> str:
        try:
            return (self.run / ".lock").read_text()
        except FileNotFoundError:
            return ""


@dataclass(frozen=True)
class Result:
    """What a finished run is compared by."""

    weights: bytes
    losses: list[dict[str, float]]

    @classmethod
    def of(cls, run: Path) -> "Result":
        newest = max((run / "checkpoints").glob(f"{checkpoint.PREFIX}*"))
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        clocks = ("seconds", "tokens_per_second")
        losses = [{name: value for name, value in row.items() if name not in clocks} for row in rows]
        return cls((newest / "model.safetensors").read_bytes(), losses)


def left_alone(place: Place) -> tuple[Result, float]:
    """Train without interruption: the result, and the seconds from the folder's appearance to the end."""
    process = place.train()
    while process.poll() is None and not place.run.exists():
        time.sleep(0.001)
    began = time.monotonic()
    if process.wait(PATIENCE):
        sys.exit(f"the run left alone failed; see {place.runs.parent / (place.runs.name + '.log')}")
    return Result.of(place.run), time.monotonic() - began


def kill_after(process: subprocess.Popen[bytes], seconds: float, run: Path) -> str:
    """Kill a process that has begun after so many seconds; the phase it was in, by what lies in its folder."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return phase(run)
    return "after the end"


def phase(run: Path) -> str:
    """What a run whose process is dead was doing."""
    facts = json.loads((run / "run.json").read_text())
    if facts["status"] == "done":
        return "report"
    if not (run / "tokenizer.json").exists():
        return "reading, tokenizer, shards"
    if "plan" not in facts:
        return "planning"
    if any((run / "checkpoints").glob(".*.tmp")):
        return "writing a checkpoint"
    log = run / "metrics.jsonl"
    rows = (
        [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        if log.exists()
        else []
    )
    if not rows:
        return "before the first step"
    if (run / "checkpoints" / checkpoint.name_of(STEPS)).exists():
        return "final evaluation"
    last = rows[-1]
    return "evaluation" if last["step"] % 10 == 0 and "validation.loss" not in last else "a step"


def torment(place: Place, duration: float, twice: bool, chance: random.Random) -> tuple[list[str], Result | None]:
    """Train, kill, resume (and kill and resume again): the phases killed in, and the result unless resuming failed."""
    process = place.train()
    while process.poll() is None and not place.run.exists():
        time.sleep(0.001)
    phases = [kill_after(process, chance.uniform(0, duration), place.run)]
    if twice:
        process = place.resume()
        place.wait_until_begun(process)
        phases.append(kill_after(process, chance.uniform(0, duration), place.run))
    if place.resume().wait(PATIENCE):
        return phases, None
    return phases, Result.of(place.run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50, help="how many runs to kill")
    parser.add_argument("--seed", type=int, default=0, help="decides the moments")
    parser.add_argument("--smoke", action="store_true", help="one kill of a very short run: does the benchmark run?")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="glasshouse-faults-") as name:
        if arguments.smoke:
            # A later override of a field replaces an earlier one. A character tokenizer needs no training.
            text = Path(name, "text.txt")
            text.write_text("one two three four five six seven eight nine ten\n" * 200)
            sizes = ("training.steps=10", "evaluation.tokens=500", "evaluation.batch=8", "training.batch=4")
            Place.overrides = (*sizes, f"data.files={text}", "data.tokenizer=characters")
            arguments.count = 1
        sys.exit(measure(Path(name), arguments.count, random.Random(arguments.seed)))


def measure(folder: Path, count: int, chance: random.Random) -> int:
    """Kill `count` runs and print how they ended. The result is the exit status."""
    began = time.monotonic()
    warm = folder / "cache"
    expected, cold_duration = left_alone(Place(folder / "alone-cold", warm))
    # A single kill is of a run with an empty cache.
    again, warm_duration = left_alone(Place(folder / "alone-warm", warm)) if count > 1 else (expected, cold_duration)
    if again != expected:
        sys.exit("two runs left alone differ already: nothing can be told from killed ones")
    kills: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    reasons = []
    second_kills = 0
    with progress_bar.bar(f"killing {count} runs") as bar:
        for index in range(count):
            cold, twice = index % 3 == 0, index % 3 == 1
            place = Place(folder / f"runs-{index}", folder / f"cache-{index}" if cold else warm)
            phases, result = torment(place, cold_duration if cold else warm_duration, twice, chance)
            kills.update(phases)
            second_kills += len(phases) - 1
            if result != expected:
                log = (folder / f"runs-{index}.log").read_text(errors="replace").strip().splitlines()
                why = "resuming failed: " + log[-1] if result is None else "weights or losses differ"
                lost[phases[-1]] += 1
                reasons.append(f"run {index}, killed in {' then '.join(phases)}: {why}")
            shutil.rmtree(place.runs)
            if cold:
                shutil.rmtree(place.cache)
            bar((index + 1) / count)
            if not progress_bar.is_terminal() and (index + 1) % 10 == 0:
                progress_bar.say(f"{index + 1}/{count} runs, {len(reasons)} lost")
    show(
        ("killed during", "kills", "runs lost"),
        [(name, str(kills[name]), str(lost[name])) for name in PHASES],
        right=(1, 2),
    )
    hit = sum(kills.values()) - kills["after the end"]
    console.print(
        f"{count} runs, {hit} kills ({second_kills} drawn for a resumed process), {len(reasons)} runs lost; "
        f"a run takes {warm_duration:.1f} s after its folder appears, {cold_duration:.1f} s with an empty cache; "
        f"{time.monotonic() - began:.0f} s in all",
        soft_wrap=True,
    )
    for reason in reasons:
        console.print(reason, markup=False, soft_wrap=True)
    return 1 if reasons else 0


if __name__ == "__main__":
    main()
