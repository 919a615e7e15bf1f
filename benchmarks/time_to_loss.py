"""Seconds from the start of a command to a validation loss: nanoGPT as published, then ours, on the same text and machine.

    git clone https://github.com/karpathy/nanoGPT
    python benchmarks/time_to_loss.py shakespeare-small --nanogpt nanoGPT   # two CPU cores, minutes
    python benchmarks/time_to_loss.py shakespeare --nanogpt nanoGPT         # a GPU, minutes
    python benchmarks/time_to_loss.py python-code --nanogpt nanoGPT         # a large GPU, minutes
    python benchmarks/time_to_loss.py shakespeare-small --loss 1.9          # ours alone, to a loss of your choice
    python benchmarks/time_to_loss.py --smoke                               # does it run?

nanoGPT trains with the settings that it publishes for the case; only the number of its steps is given for `python-code`, and
its schedule follows. The loss to reach is its lowest validation loss, and its time is that at which it printed this loss.
Ours is the shipped recipe of the case, for `python-code` with half of its steps. Both read the tokens of our split. nanoGPT
estimates the loss from random windows, ours is that of all windows one after another; a window has `context` tokens in both.
The clock counts everything from the start of the command: imports, compilation, evaluations. "Steps alone" is the number of
steps times the median step.
"""

import argparse
import json
import os
import pickle
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import glasshouse
from glasshouse.records import machine
from glasshouse.training import devices
from glasshouse.training.job import Job

# nanoGPT's files that it needs for training.
PEER_FILES = ("train.py", "model.py", "configurator.py", "config")
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Case:
    """A recipe of ours, and the arguments of nanoGPT's train.py for the same text.

    `validation_tokens` bounds the validation text of both; 0 means all of it.
    """

    recipe: str
    peer: tuple[str, ...]
    ours: tuple[str, ...] = ()
    validation_tokens: int = 0


CASES = {
    # The command for a laptop in nanoGPT's README.
    "shakespeare-small": Case(
        "shakespeare-small",
        (
            "config/train_shakespeare_char.py",
            *("--device=cpu", "--compile=False", "--eval_iters=20", "--log_interval=1", "--block_size=64"),
            *("--batch_size=12", "--n_layer=4", "--n_head=4", "--n_embd=128", "--max_iters=2000"),
            *("--lr_decay_iters=2000", "--dropout=0.0"),
        ),
        validation_tokens=20_000,
    ),
    # Its lowest validation loss comes after some 1,750 of its 5,000 steps; then it overfits, and is stopped.
    "shakespeare": Case("shakespeare", ("config/train_shakespeare_char.py", "--max_iters=2250")),
    # The defaults of train.py are GPT-2 124 M on eight GPUs: 480 windows a step, here in 8 parts of 60 on one GPU. Its
    # 600,000 steps take days, so the number of steps and the lengths of warm-up and decay are given.
    "python-code": Case(
        "python-code",
        (
            *("--batch_size=60", "--gradient_accumulation_steps=8", "--max_iters=120", "--lr_decay_iters=120"),
            *("--warmup_iters=12", "--eval_interval=20", "--eval_iters=10", "--log_interval=1"),
        ),
        ("training.steps=400",),
        validation_tokens=500_000,
    ),
}
SMOKE = Case("demo-lm", (), ("training.steps=4", "evaluation.every=2", "model.layers=1", "model.width=32"))


@dataclass
class Curve:
    """Validation losses of a command: (step, loss, seconds since its start), and the median seconds of a step."""

    points: list[tuple[int, float, float]] = field(default_factory=list)
    step_seconds: float = float("nan")

    def lowest(self) -> tuple[int, float, float]:
        return min(self.points, key=lambda point: point[1])

    def first_at_most(self, loss: float) -> tuple[int, float, float] | None:
        return next((point for point in self.points if point[1] <= loss), None)


def write_peer_data(folder: Path, case: Case) -> None:
    """nanoGPT's data files with the tokens of our training and validation splits."""
    spec = glasshouse.runs.spec_of(case.recipe, *case.ours)
    prepared = Job.prepare(spec, torch.device("cpu")).prepared
    folder.mkdir(parents=True)
    prepared.splits["train"].tokens[:].astype("uint16").tofile(folder / "train.bin")
    validation = prepared.splits["validation"].tokens
    validation[: case.validation_tokens or len(validation)].astype("uint16").tofile(folder / "val.bin")
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": prepared.tokenizer.vocabulary}))


def peer_curve(nanogpt: Path, case: Case, folder: Path, log: Path) -> Curve:
    """Run nanoGPT's train.py in a folder of its own."""
    for name in PEER_FILES:
        copy = shutil.copytree if (nanogpt / name).is_dir() else shutil.copy
        copy(nanogpt / name, folder / name)
    write_peer_data(folder / "data" / "ours", case)
    command = [sys.executable, "-u", "train.py", *case.peer, "--dataset=ours", "--out_dir=out", "--wandb_log=False"]
    curve, steps = Curve(), []
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        with log.open("w") as lines:
            for line in process.stdout:
                lines.write(line)
                if found := re.match(r"step (\d+): train loss [\d.]+, val loss ([\d.]+)", line):
                    curve.points.append((int(found[1]), float(found[2]), time.perf_counter() - start))
                elif found := re.match(r"iter \d+: loss [\d.]+, time ([\d.]+)ms", line):
                    steps.append(float(found[1]) / 1000)
    if process.returncode:
        raise SystemExit(f"nanoGPT ended with exit code {process.returncode}; its output is in {log}")
    curve.step_seconds = statistics.median(steps)
    return curve


def our_curve(case: Case, device: str, seed: int, folder: Path, log: Path) -> Curve:
    """Run `glasshouse train` in a process of its own, and watch its metrics."""
    environment = {**os.environ, "GLASSHOUSE_RUNS": str(folder)}
    bound = [f"evaluation.tokens={case.validation_tokens}"]
    overrides = [*bound, *case.ours, f"training.seed={seed}"]
    command = [sys.executable, "-m", "glasshouse", "train", case.recipe, *overrides, "--name", "ours", "--device", device]
    curve, metrics, read = Curve(), folder / "ours" / "metrics.jsonl", 0
    speeds = []
    start = time.perf_counter()
    with (
        log.open("w") as lines,
        subprocess.Popen(command, stdout=lines, stderr=subprocess.STDOUT, env=environment) as process,
    ):
        running = True
        while running:
            running = process.poll() is None
            seconds = time.perf_counter() - start
            text = metrics.read_text() if metrics.exists() else ""
            for line in text[read : text.rfind("\n") + 1].splitlines():
                row = json.loads(line)
                if "validation.loss" in row:
                    curve.points.append((row["step"], row["validation.loss"], seconds))
                elif "tokens_per_second" in row:
                    speeds.append(row["tokens_per_second"])
            read = text.rfind("\n") + 1
            time.sleep(POLL_SECONDS)
    if process.returncode:
        raise SystemExit(f"glasshouse ended with exit code {process.returncode}; its output is in {log}")
    spec = glasshouse.runs.spec_of(case.recipe, *case.ours)
    curve.step_seconds = spec.training.batch * spec.data.context / statistics.median(speeds)
    return curve


def row(name: str, point: tuple[int, float, float] | None, curve: Curve, base: float | None) -> list[str]:
    step, lowest, _ = curve.lowest()
    found = [f"{lowest:.4f} (step {step:,})"]
    if point is None:
        return [name, "", "", "not reached", "", "", *found]
    ratio = f"{base / point[2]:.2f}" if base else ""
    return [
        name,
        f"{point[0]:,}",
        f"{point[1]:.4f}",
        f"{point[2]:.1f}",
        f"{point[0] * curve.step_seconds:.1f}",
        ratio,
        *found,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "case", nargs="?", choices=tuple(CASES), help="what to train; by default Shakespeare in the size for the device"
    )
    parser.add_argument("--nanogpt", type=Path, help="a folder with nanoGPT; without it only ours runs")
    parser.add_argument("--loss", type=float, help="the loss to reach; by default nanoGPT's lowest")
    parser.add_argument("--seeds", type=int, default=1, help="runs of ours")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--logs", type=Path, default=Path("time-to-loss"), help="folder for the programs' output")
    parser.add_argument("--smoke", action="store_true", help="a tiny model for a few seconds: does the benchmark run?")
    options = parser.parse_args()
    device = str(devices.pick(options.device))
    name = options.case or ("shakespeare-small" if device == "cpu" else "shakespeare")
    case = SMOKE if options.smoke else CASES[name]
    loss, base = options.loss, None
    print(", ".join(f"{name} {value}" for name, value in machine.describe(device).items()))
    table = Table(title=f"{case.recipe}: time to a loss")
    columns = ("", "step", "loss", "seconds, whole command", "steps alone", "times as fast", "lowest loss")
    for column in columns:
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as temporary:
        folder, logs = Path(temporary), options.logs if not options.smoke else Path(temporary)
        logs.mkdir(parents=True, exist_ok=True)
        if options.nanogpt:
            (folder / "peer").mkdir()
            peer = peer_curve(options.nanogpt, case, folder / "peer", logs / f"{case.recipe}-nanogpt.txt")
            reached = peer.lowest() if loss is None else peer.first_at_most(loss)
            loss, base = (loss if loss is not None else peer.lowest()[1]), reached[2] if reached else None
            table.add_row(*row("nanoGPT", reached, peer, base))
        else:
            print("no --nanogpt FOLDER was given, so nanoGPT is not run")
        for seed in range(options.seeds):
            ours = our_curve(case, options.device, seed, folder / f"seed-{seed}", logs / f"{case.recipe}-ours-{seed}.txt")
            target = loss if loss is not None else ours.lowest()[1]
            table.add_row(*row(f"ours, seed {seed}", ours.first_at_most(target), ours, base))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
