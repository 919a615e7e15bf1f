"""Replicas beside a single run, measured together: the time of a step per replica, and the memory predicted and used.

The model is the speeches' language model (recipe `speech-lm`; needs GLASSHOUSE_DATA), its batches drawn and sent to the
device as in training. Nothing is evaluated or saved. On CUDA the single run is timed both launched kernel by kernel and
replayed from a recorded graph, before and after all else.

    python benchmarks/replica_speed.py                       # everything; about two minutes on an H200
    python benchmarks/replica_speed.py --replicas 8,32 --precision bf16
    python benchmarks/replica_speed.py --fill training.batch=256     # as many replicas as are predicted to fit: do they?
    python benchmarks/replica_speed.py --smoke               # does it run? Two replicas of a tiny model, a few seconds
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import glasshouse
from glasshouse.training import devices, replica_count
from glasshouse.training.engine import Engine
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas

WARM, ROUNDS = 6, 5
MANY = 10_000  # more replicas than fit
SMOKE = ("model.width=16", "model.layers=1", "model.heads=2", "data.vocabulary=300", "data.context=16", "training.batch=2")


def jobs_of(job: Job, count: int, **training: Any) -> list[Job]:
    """A job with each of the seeds 0 to count - 1."""
    specs = (replace(job.spec, training=replace(job.spec.training, seed=seed, **training)) for seed in range(count))
    return [replace(job, spec=spec) for spec in specs]


def step_seconds(engine: Engine | Replicas, steps: int) -> float:
    """The median over rounds of a step's time; the device is waited for once a round."""
    for step in range(WARM):
        engine.step(step)
    times = []
    for turn in range(ROUNDS):
        devices.synchronise(engine.device)
        start = time.perf_counter()
        for step in range(steps):
            engine.step(WARM + turn * steps + step)
        devices.synchronise(engine.device)
        times.append((time.perf_counter() - start) / steps)
    return statistics.median(times)


def rows(job: Job, counts: list[int], precisions: list[str], steps: int = 0) -> Iterator[tuple[str, str, int, float, int]]:
    """(what, number format, replicas, seconds of a step, bytes at the peak)."""
    cuda = job.device.type == "cuda"
    for name in precisions:
        alone = [("alone, launched", False), ("alone, recorded", True)] if cuda else [("alone", False)]
        again = [(f"{what}, again", cuda_graph) for what, cuda_graph in alone]
        for what, cuda_graph in alone:
            yield measured(what, name, jobs_of(job, 1, precision=name, cuda_graph=cuda_graph), steps)
        for count in counts:
            yield measured(f"{count} replicas", name, jobs_of(job, count, precision=name), steps)
        for what, cuda_graph in again:
            yield measured(what, name, jobs_of(job, 1, precision=name, cuda_graph=cuda_graph), steps)


def measured(what: str, name: str, jobs: list[Job], steps: int = 0) -> tuple[str, str, int, float, int]:
    device = jobs[0].device
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    engine = jobs[0].engine() if len(jobs) == 1 else Replicas(jobs)
    seconds = step_seconds(engine, steps or (40 if len(jobs) <= 32 else 10))
    used = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return what, name, len(jobs), seconds, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", default="8,32,128,512", help="how many, in turn")
    parser.add_argument("--precision", default="fp32,tf32,bf16")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--fill", action="store_true", help="take steps with as many replicas as are said to fit")
    parser.add_argument("--smoke", action="store_true", help="two replicas of a tiny model: does the benchmark run?")
    parser.add_argument("overrides", nargs="*", help="changes to the recipe")
    options = parser.parse_args()
    console = Console(width=110)
    recipe, overrides = "speech-lm", options.overrides
    if options.smoke:
        recipe, overrides = "demo-lm", [*SMOKE, *overrides]
        options.replicas, options.precision = "2", "fp32"
    spec = glasshouse.runs.spec_of(recipe, "training.steps=100000", *overrides)
    job = Job.prepare(spec, devices.pick(options.device))
    needed = {
        name: replica_count.predicted_memory(jobs_of(job, 1, precision=name)[0]) for name in options.precision.split(",")
    }
    if options.fill:
        for name in needed:
            count, _ = replica_count.choose(jobs_of(job, MANY, precision=name), True)
            _, _, _, seconds, used = measured("fill", name, jobs_of(job, count, precision=name), steps=1)
            console.print(
                f"{name}: {count} replicas, for which shapes predict {count * needed[name] / 1e9:.1f} GB; they needed "
                f"{used / 1e9:.1f} GB and {seconds / count * 1e3:.4f} ms a step and replica"
            )
        return
    table = Table(
        "",
        "format",
        "ms a step",
        "ms a step and replica",
        "times alone, launched",
        "GB predicted",
        "GB used",
        title=recipe,
    )
    first = 0.0
    counts = [int(count) for count in options.replicas.split(",")]
    for what, name, count, seconds, used in rows(job, counts, list(needed), steps=1 if options.smoke else 0):
        first = first or seconds
        each = seconds / count
        table.add_row(
            what,
            name,
            f"{seconds * 1e3:.3f}",
            f"{each * 1e3:.4f}",
            f"{first / each:.1f}",
            f"{count * needed[name] / 1e9:.2f}" if count > 1 else "",
            f"{used / 1e9:.2f}" if used else "",
        )
        console.print(f"{what} {name}: {each * 1e3:.4f} ms a step and replica")
    console.print(table)


if __name__ == "__main__":
    main()
