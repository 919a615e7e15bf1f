"""Memory of a training step on one GPU: predicted beside measured, for every way to need less; and the largest decoder.

    python benchmarks/training_memory.py              # 1.3 B parameters, 1,024 tokens; then the largest decoder of one GPU
    python benchmarks/training_memory.py --cases      # without the search for the largest
    python benchmarks/training_memory.py --smoke      # does it run? On a CPU too, and no figure worth keeping

GPT-2's architecture in bfloat16 with AdamW. Every case has a process of its own. The prediction is that of the cost plan,
made before the model exists. Peak memory is what torch's allocator counts.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from glasshouse import models
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.models.base import Model
from glasshouse.specs import spec_files
from glasshouse.specs.spec import Spec
from glasshouse.tasks.next_token import NextToken
from glasshouse.training import activation_checkpointing, cost_plan, devices, parallelism
from glasshouse.training.engine import Engine
from glasshouse.training.job import Job

PLAIN, RECOMPUTED, SHARDED = "plain", "checkpoint_activations", "parallel=shard"
CASES = (PLAIN, RECOMPUTED, SHARDED, f"{SHARDED} {RECOMPUTED}")
# The ways to fit a larger decoder on one GPU, each with all before it.
LARGEST = (PLAIN, RECOMPUTED)
WARM_UP, STEPS = 2, 3


@dataclass(frozen=True)
class Size:
    """The shape of a decoder and its batch."""

    width: int
    layers: int
    heads: int
    batch: int
    context: int = 1024
    vocabulary: int = 50257


GPU = Size(width=2048, layers=24, heads=16, batch=8)
LARGE = Size(width=5120, layers=0, heads=40, batch=1)
SMOKE = Size(width=16, layers=2, heads=2, batch=2, context=16, vocabulary=256)


def spec_of(size: Size, case: str) -> Spec:
    """A spec of GPT-2's architecture."""
    shape = {"width": size.width, "layers": size.layers, "heads": size.heads, "bias": True}
    training = {"steps": 10**6, "batch": size.batch, "precision": "bf16", "cuda_graph": False}
    tables = {
        "data": {"source": "state-of-the-union", "context": size.context},
        "model": {**shape, "position": "learned", "norm": "layer", "activation": "gelu"},
        "training": training | {name: True for name in case.split() if name == RECOMPUTED},
    }
    return spec_files.checked(spec_files.unchecked(tables))


def job_of(size: Size, case: str, device: torch.device, folder: Path) -> Job:
    """A job on random tokens."""
    tokens = np.random.default_rng(0).integers(0, size.vocabulary, 100 * size.context * size.batch).astype("<u2")
    tokens.tofile(folder / "train.tokens")
    count = len(tokens)
    shard = Shard(count, 1, count, count, unknown=0, mark=None, dtype="<u2", folder=folder, split="train")
    prepared: Any = PreparedData(SimpleNamespace(vocabulary=size.vocabulary), {"train": shard}, "")  # type: ignore[arg-type]
    spec = spec_of(size, case)
    return Job(spec, prepared, NextToken(spec), 10**6, device)


def model_on(job: Job) -> Model:
    """The model of a job, built on its device: drawing billions of weights on a CPU takes minutes."""
    torch.manual_seed(0)
    with job.device, torch.no_grad():
        model = models.assemble(job.spec.model, job.prepared.tokenizer.vocabulary, job.spec.data.context)
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0.0, 0.02)
    if job.spec.training.checkpoint_activations:
        activation_checkpointing.checkpoint_activations(model)
    return model


def measure(size: Size, case: str) -> dict[str, Any]:
    """Take a few steps of a case in this process."""
    device = devices.pick("auto")
    with tempfile.TemporaryDirectory() as folder:
        job = job_of(size, case, device, Path(folder))
        memory = cost_plan.at_peak(cost_plan.training_memory(job, "bf16"), job.spec.training)
        devices.reset_peak_memory(device)
        spread = parallelism.connect("shard", "bf16") if SHARDED in case else None
        train = job.prepared.splits["train"]
        engine = Engine(job.spec, job.steps, job.task, model_on(job), train, device, spread)
        parameters = sum(parameter.numel() for parameter in engine.model.parameters())
        times, losses = [], []
        for step in range(WARM_UP + STEPS):
            devices.synchronise(device)
            start = time.perf_counter()
            losses.append(float(engine.step(step).losses))
            devices.synchronise(device)
            times.append(time.perf_counter() - start)
    return {
        "parameters": parameters,
        "predicted": memory,
        "peak": devices.peak_memory(device),
        "seconds": statistics.median(times[WARM_UP:]),
        "losses": losses,
    }


def measure_apart(size: Size, case: str) -> dict[str, Any]:
    """What `measure` finds in a process of its own; {"error": ...} if it fails, for example for lack of memory."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    alone = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, __file__, "--measure", json.dumps({"size": asdict(size), "case": case})]
    done = subprocess.run(command, env={**os.environ, **alone}, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"error": next((line for line in reversed(lines) if "out of memory" in line), lines[-1])}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def compare_cases(size: Size, console: Console) -> dict[str, Any]:
    """Predicted and measured memory of every case."""
    table = Table("case", "predicted GB", "measured GB", "predicted / measured", "s per step", "loss of step 5")
    found = {}
    for case in CASES:
        found[case] = result = measure_apart(size, case)
        if "error" in result:
            table.add_row(case, "", "", "", "", result["error"][:60])
            continue
        predicted = sum(result["predicted"].values())
        table.add_row(
            case,
            f"{predicted / 1e9:.2f}",
            f"{result['peak'] / 1e9:.2f}",
            f"{predicted / result['peak']:.2f}" if result["peak"] else "",
            f"{result['seconds']:.3f}",
            f"{result['losses'][-1]:.4f}",
        )
    console.print(table)
    return found


def find_largest(case: str, console: Console) -> dict[int, Any]:
    """Try numbers of layers around the predicted limit, until one fits and one more does not."""
    tried: dict[int, Any] = {}
    layers = predicted_layers(case)
    while layers not in tried and layers > 0:
        size = replace(LARGE, layers=layers)
        tried[layers] = result = measure_apart(size, case)
        if "error" in result:
            console.print(f"{case}: {layers} layers: {result['error'][:110]}")
            layers -= 1
            continue
        console.print(
            f"{case}: {layers} layers, {result['parameters'] / 1e9:.2f} B parameters: peak {result['peak'] / 1e9:.1f} GB, "
            f"predicted {sum(result['predicted'].values()) / 1e9:.1f} GB, {result['seconds']:.2f} s per step"
        )
        layers += 1
    return tried


def predicted_layers(case: str) -> int:
    """The most layers whose predicted memory fits."""
    device = devices.pick("auto")
    available = devices.memory(device)
    with tempfile.TemporaryDirectory() as folder:
        # Memory is linear in the number of layers.
        jobs = [job_of(replace(LARGE, layers=layers), case, device, Path(folder)) for layers in (4, 8)]
        small, large = (
            sum(cost_plan.at_peak(cost_plan.training_memory(job, "bf16"), job.spec.training).values()) for job in jobs
        )
    each = (large - small) / 4
    return int((available - small) / each) + 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", action="store_true", help="without the search for the largest decoder")
    parser.add_argument("--smoke", action="store_true", help="does it run? A few seconds")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        request = json.loads(options.measure)
        print(json.dumps(measure(Size(**request["size"]), request["case"])))
        return
    console = Console(width=125)
    found: dict[str, Any] = {"cases": compare_cases(SMOKE if options.smoke else GPU, console)}
    if not options.smoke and not options.cases:
        found["largest"] = {case: find_largest(case, console) for case in LARGEST}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    if options.smoke and (failed := [case for case, result in found["cases"].items() if "error" in result]):
        raise SystemExit(f"failed: {', '.join(failed)}: {found['cases'][failed[0]]['error']}")


if __name__ == "__main__":
    main()
