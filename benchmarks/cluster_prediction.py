"""The predicted step time of several processes beside the measured one, and the predicted costs of large clusters.

The processes run on this machine's CPU and talk by gloo, in float32, with one thread each. First the time of all-reduce,
all-gather and reduce-scatter is measured for small and large messages, and the time of a step of one process on its rows.
From these alone the model of `training/communication_model.py` predicts a step of DDP and of FSDP2, which is then measured.

Processes on one machine share its cores. So there are two predictions. The first takes the step of one process alone; if
there are more processes than cores, computing is slower by processes / cores. The second takes the step of processes that
compute at the same time without communication, so that it tests the model of communication alone. Every time is the fastest
of many, because other programs on the machine disturb a time only upwards.

    python benchmarks/cluster_prediction.py                  # all of it; about five minutes on two idle cores
    python benchmarks/cluster_prediction.py --large          # the table of large models on H200 clusters; measures nothing
    python benchmarks/cluster_prediction.py --smoke          # does it run? One tiny model, two processes, half a minute
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed

import glasshouse
from glasshouse.cli.plan_output import KINDS, bounds, short
from glasshouse.formatting import count, duration, size
from glasshouse.specs.spec import Spec
from glasshouse.training import cluster_prediction, communication_model, parallelism, process_group
from glasshouse.training.communication_model import Links, StepTimes
from glasshouse.training.engine import Engine
from glasshouse.training.job import Job

COMMON = ("data.vocabulary=4096", "data.context=32", "training.batch=8", "training.threads=1", "training.precision=fp32")
MODELS: dict[str, tuple[str, ...]] = {
    "small": ("model.width=192", "model.layers=3", "model.heads=4", "model.feed_forward=512"),
    "middle": ("model.width=384", "model.layers=4", "model.heads=4", "model.feed_forward=1024"),
    "large": ("model.width=512", "model.layers=6", "model.heads=4", "model.feed_forward=1536"),
}
SMOKE: dict[str, tuple[str, ...]] = {
    "tiny": ("data.vocabulary=300", "data.context=16", "model.width=16", "model.layers=2", "model.feed_forward=32")
}
# Bytes of the messages whose times give latency and bandwidth: about the sizes that a step sends.
SMALL, LARGE = 2**12, 2**24
WARM, STEPS, REPEATS, ROUNDS = 2, 10, 20, 3
# (name, tokens in a batch, fields): GPT-2 small, the 1.3 B of Brown et al. (2020), and the shape of Llama 3 8B.
LARGE_MODELS = [
    ("124 M", 2**19, ()),
    ("1.3 B", 2**20, ("data.context=2048", "model.width=2048", "model.layers=24", "model.heads=16")),
    (
        "8 B",
        2**22,
        (
            "data.context=8192",
            "data.vocabulary=128256",
            "model.width=4096",
            "model.layers=32",
            "model.heads=32",
            "model.attention=grouped-query",
            "model.key_value_heads=8",
            "model.feed_forward=14336",
            "model.activation=swiglu",
            "model.norm=rms",
            "model.position=rotary",
            "model.bias=false",
            "model.tied=false",
            "training.checkpoint_activations=true",
        ),
    ),
]
CLUSTERS = ("1x8", "8x8", "128x8")

Times = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", default="2,4")
    parser.add_argument("--large", action="store_true", help="print the table of large models on H200 clusters")
    parser.add_argument("--smoke", action="store_true", help="one tiny model and two processes: does the benchmark run?")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(json.loads(options.worker))
    elif options.large:
        print("\n".join(large_table()))
    else:
        counts = [2] if options.smoke else [int(number) for number in options.processes.split(",")]
        show_predictions(SMOKE if options.smoke else MODELS, counts, options.smoke)


def show_predictions(models: dict[str, tuple[str, ...]], counts: list[int], smoke: bool) -> None:
    """Measure everything in several rounds, and print after each what the fastest times so far predict and show."""
    warm, steps, repeats, rounds = (1, 2, 2, 1) if smoke else (WARM, STEPS, REPEATS, ROUNDS)
    fields = {name: (*COMMON, *shape) for name, shape in models.items()}
    specs = {name: glasshouse.runs.spec_of("demo-lm", *changes) for name, changes in fields.items()}
    for spec in specs.values():
        Job.prepare(spec, torch.device("cpu"))  # fills the cache, so that the processes need not wait for each other
    request = {"models": fields, "counts": counts, "warm": warm, "steps": steps, "repeats": repeats}
    least: dict[int, Times] = {}
    for number in range(rounds):
        for processes in (1, *counts):
            found, before = in_processes(processes, request), least.get(processes, {})
            least[processes] = {name: min(value, before.get(name, value)) for name, value in found.items()}
        print(f"after round {number + 1} of {rounds}:")
        print_table(specs, counts, least)


def print_table(specs: dict[str, Spec], counts: list[int], least: dict[int, Times]) -> None:
    cores = os.cpu_count() or 1
    print(f"{cores} cores, gloo, float32, one thread in each process; times in ms")
    links = {processes: fitted_links(least[processes], processes) for processes in counts}
    for processes, of_kind in links.items():
        for kind, found in of_kind.items():
            bandwidth, latency = size(found.node_bandwidth), duration(found.node_latency)
            print(f"{processes} processes, {kind}: {bandwidth}/s, {latency} a message")
    print("| parameters | processes | parallel | alone | together | communication | from alone | from together | measured |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, spec in specs.items():
        weights = cluster_prediction.weights_of(spec)
        for processes in counts:
            alone, update = (least[1][f"{name}, {part} of 1/{processes}"] for part in ("step", "update"))
            together = least[processes][f"{name}, together"]
            for kind, used in links[processes].items():
                measured = least[processes][f"{name}, {kind}"]
                cells = [count(weights.total), str(processes), KINDS[kind], f"{alone * 1e3:.0f}", f"{together * 1e3:.0f}"]
                for slower in (max(processes / cores, 1), together / alone):
                    once = (alone - update) / 3 * slower
                    compute = StepTimes(once, 2 * once, update * slower)
                    if kind == parallelism.REPLICATE:
                        predicted = communication_model.replicated_step(compute, weights, used)
                    else:
                        predicted = communication_model.sharded_step(compute, weights, used, number_bytes=4)
                    low, high = (f"{measured / bound:.2f}" for bound in (predicted.slowest, predicted.fastest))
                    bound_texts = f"{predicted.fastest * 1e3:.0f} to {predicted.slowest * 1e3:.0f}"
                    cells.append(f"{bound_texts} (x {low} to {high})")
                cells.insert(5, f"{predicted.communication * 1e3:.0f}")
                print(f"| {' | '.join(cells)} | {measured * 1e3:.0f} |", flush=True)


def fitted_links(times: Times, processes: int) -> dict[str, Links]:
    """The links of the processes for each kind of parallelism, from the times of a small and of a large message."""

    def fit(small: float, large: float) -> Links:
        # A ring sends (p - 1) / p of the bytes in p - 1 messages.
        bandwidth = (processes - 1) / processes * (LARGE - SMALL) / max(large - small, 1e-9)
        return Links(1, processes, bandwidth, 1.0, small / (processes - 1), 0.0)

    sizes = ("small", "large")
    half = [times[f"all_reduce {name}"] / 2 for name in sizes]  # an all-reduce goes around the ring twice
    # FSDP2 gathers weights twice and scatters gradients once.
    mixed = [(2 * times[f"all_gather {name}"] + times[f"reduce_scatter {name}"]) / 3 for name in sizes]
    return {parallelism.REPLICATE: fit(*half), parallelism.SHARD: fit(*mixed)}


def in_processes(processes: int, request: dict[str, Any]) -> Times:
    """What rank 0 of so many processes measures."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        words = [__file__, "--worker", json.dumps({**request, "answer": str(answer)})]
        command = [sys.executable, *(launcher if processes > 1 else []), *words]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        found: Times = json.loads(answer.read_text())
        return found


def work(request: dict[str, Any]) -> None:
    """What a process does: measure, and write the times on rank 0."""
    torch.set_num_threads(1)
    warm, steps = request["warm"], request["steps"]
    found: Times = {}
    if process_group.size() > 1:
        process_group.join()
        found |= collective_seconds(request["repeats"])
    for name, fields in request["models"].items():
        job = Job.prepare(glasshouse.runs.spec_of("demo-lm", *fields), torch.device("cpu"))
        for processes in request["counts"] if process_group.size() == 1 else [process_group.size()]:
            training = replace(job.spec.training, batch=job.spec.training.batch // processes)
            own_rows = replace(job, spec=replace(job.spec, training=training))
            step, update = step_seconds(own_rows.engine("fp32"), warm, steps)
            if process_group.size() > 1:
                found[f"{name}, together"] = step
            else:
                found |= {f"{name}, step of 1/{processes}": step, f"{name}, update of 1/{processes}": update}
        for kind in (parallelism.REPLICATE, parallelism.SHARD) if process_group.size() > 1 else ():
            engine = job.engine("fp32", parallelism.connect(kind, "fp32"))
            found[f"{name}, {kind}"], _ = step_seconds(engine, warm, steps)
    if process_group.rank() == 0:
        Path(request["answer"]).write_text(json.dumps(found))


def collective_seconds(repeats: int) -> Times:
    """The least seconds of each collective, for a small and a large message."""
    processes = process_group.size()

    def least(call: Callable[[], object]) -> float:
        times = []
        for _ in range(repeats + WARM):
            torch.distributed.barrier()
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times[WARM:])

    whole = {number: torch.ones(number // 4) for number in (SMALL, LARGE)}
    share = {number: torch.ones(number // 4 // processes) for number in whole}
    calls: dict[str, Callable[[int], object]] = {
        "all_reduce": lambda number: torch.distributed.all_reduce(whole[number]),
        "all_gather": lambda number: torch.distributed.all_gather_into_tensor(whole[number], share[number]),
        "reduce_scatter": lambda number: torch.distributed.reduce_scatter_tensor(share[number], whole[number]),
    }
    return {
        f"{name} {message}": least(functools.partial(call, number))
        for name, call in calls.items()
        for message, number in (("small", SMALL), ("large", LARGE))
    }


def step_seconds(engine: Engine, warm: int, steps: int) -> tuple[float, float]:
    """The least seconds until all processes have taken a step, and of the update in a single process."""
    together = process_group.size() > 1
    times, updates = [], []
    for step in range(warm + steps):
        if together:
            torch.distributed.barrier()
        start = time.perf_counter()
        engine.step(step)
        if together:
            torch.distributed.barrier()
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
        if not together:
            engine.optimiser.step()
        updates.append(time.perf_counter() - start)
    return min(times[warm:]), min(updates[warm:])


def large_table() -> Iterator[str]:
    """A Markdown table of large models on clusters of H200. The number of micro-batches is the smallest that fits."""
    yield (
        "| model | GPUs | batch | sequences of a GPU | parallel | memory of a GPU | step | waiting for others | tokens/s | "
        "GPU hours per 1 B tokens |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name, tokens, fields in LARGE_MODELS:
        context = next((int(field.split("=")[1]) for field in fields if field.startswith("data.context")), 1024)
        for cluster in CLUSTERS:
            plan = fitting_plan(cluster, (*fields, f"training.batch={tokens // context}"))
            best = plan.best
            rows = f"{plan.rows}" + (f" x {plan.micro_batches}" if plan.micro_batches > 1 else "")
            cells = [
                name,
                f"{plan.gpus:,}",
                f"{count(plan.tokens)} tokens",
                rows,
                KINDS[plan.chosen],
                size(sum(best.memory.values())) + ("" if best.fits else ", does not fit"),
                bounds(best.step_seconds, duration),
                bounds(best.communication_share, lambda share: f"{share:.0%}"),
                bounds(best.tokens_per_second, count),
                bounds(best.gpu_hours_per_billion_tokens, short),
            ]
            yield f"| {' | '.join(cells)} |"


def fitting_plan(cluster: str, fields: tuple[str, ...]) -> glasshouse.training.cluster_prediction.ClusterPlan:
    """The plan with the smallest number of micro-batches that fits into memory."""
    parts = 1
    while True:
        accumulation = f"training.gradient_accumulation={parts}"
        plan = glasshouse.cluster.plan_cluster("gpt-2", *fields, accumulation, cluster=cluster, device="cpu")
        if plan.best.fits or plan.rows == 1:
            return plan
        parts *= 2


if __name__ == "__main__":
    main()
