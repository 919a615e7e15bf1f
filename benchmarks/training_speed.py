"""Training throughput beside a peer in one run: our engine and `transformers`' GPT-2 with the same sizes and optimiser.

    python benchmarks/training_speed.py               # GPT-2 small on a GPU (eager and compiled), the demo's size on a CPU
    python benchmarks/training_speed.py --quick       # without the compiled forms
    python benchmarks/training_speed.py --smoke       # does it run? A few seconds, and no figure worth keeping

On a GPU: GPT-2 small (124 M parameters, 1,024 tokens, batch 64, bfloat16). On a CPU: 4 layers of width 128 in float32. Times
are medians of interleaved rounds, so that a busy moment of the machine hits both.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from glasshouse import models
from glasshouse.data.shards import Shard
from glasshouse.models import parameter_counts
from glasshouse.specs import spec_files
from glasshouse.specs.spec import Spec
from glasshouse.tasks.next_token import NextToken
from glasshouse.training import devices
from glasshouse.training.engine import Engine
from glasshouse.training.matmul_speed import matmul_flop_rate


@dataclass(frozen=True)
class Size:
    """What is trained, and how often it is timed."""

    width: int
    layers: int
    heads: int
    context: int
    vocabulary: int
    batch: int
    precision: str
    rounds: int = 4
    steps: int = 5


GPU = Size(768, 12, 12, 1024, 50304, 64, "bf16")
CPU = Size(128, 4, 4, 128, 4096, 16, "fp32")
SMOKE = Size(16, 1, 2, 16, 256, 2, "fp32", rounds=1, steps=1)


def spec_of(size: Size, compiled: bool) -> Spec:
    """A spec of GPT-2's architecture."""
    tables = {
        "data": {"source": "state-of-the-union", "context": size.context},
        "model": {
            "width": size.width,
            "layers": size.layers,
            "heads": size.heads,
            "position": "learned",
            "norm": "layer",
            "activation": "gelu",
            "bias": True,
        },
        "training": {"steps": 10**6, "batch": size.batch, "compile": compiled, "precision": size.precision},
    }
    return spec_files.from_tables(tables)


def our_steps(size: Size, device: torch.device, compiled: bool, folder: Path) -> tuple[Callable[[], None], int]:
    """A function that takes a few of our steps, and the FLOPs of training on one token."""
    spec = spec_of(size, compiled)
    tokens = np.random.default_rng(0).integers(0, size.vocabulary, 200 * size.context * size.batch).astype("<u2")
    tokens.tofile(folder / "train.tokens")
    shard = Shard(
        folder=folder,
        split="train",
        tokens_count=len(tokens),
        documents=1,
        bytes=len(tokens),
        words=len(tokens),
        unknown=0,
        separator=None,
        dtype="<u2",
    )
    model = models.build(spec.model, size.vocabulary, size.context)
    engine = Engine(spec, 10**6, NextToken(size.context), model, shard, device)
    flops = parameter_counts.training_flops(model.flops(size.context)) // size.context  # type: ignore[operator]
    step = 0

    def run() -> None:
        nonlocal step
        for _ in range(size.steps):
            engine.step(step)
            step += 1

    return run, flops


def peer_steps(size: Size, device: torch.device, compiled: bool) -> Callable[[], None]:
    """A function that takes as many steps of `transformers`' model in a plain training loop."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=size.vocabulary,
        n_positions=size.context,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    config._attn_implementation = "sdpa"
    model: torch.nn.Module = transformers.GPT2LMHeadModel(config)
    model = model.to(device).train()
    forward = torch.compile(model) if compiled else model
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    generator = np.random.default_rng(0)

    def run() -> None:
        for _ in range(size.steps):
            ids = torch.from_numpy(generator.integers(0, size.vocabulary, (size.batch, size.context))).to(device)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=size.precision == "bf16"):
                loss = forward(input_ids=ids, labels=ids).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return run


def throughputs(size: Size, device: torch.device, runners: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Tokens per second of each runner. They take turns; the first round is a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in runners}
    for turn in range(size.rounds + 1):
        for name, run in runners.items():
            devices.synchronise(device)
            start = time.perf_counter()
            run()
            devices.synchronise(device)
            if turn:
                times[name].append(time.perf_counter() - start)
    tokens = size.steps * size.batch * size.context
    return {name: tokens / statistics.median(spent) for name, spent in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--quick", action="store_true", help="leave out the compiled forms")
    parser.add_argument("--smoke", action="store_true", help="a tiny model for a few seconds: does the benchmark run?")
    options = parser.parse_args()
    device = devices.pick(options.device)
    on_gpu = device.type == "cuda"
    size = SMOKE if options.smoke else GPU if on_gpu else CPU
    peak = matmul_flop_rate(device, size.precision, 128 if options.smoke else 8192 if on_gpu else 1024, seconds=1.0)
    table = Table(title=f"training throughput on {device}; matrix products alone {peak / 1e12:.2f} TFLOP/s")
    for column in ("form", "batch", "ours, tokens/s", "of the matrix rate", "transformers, tokens/s", "ratio"):
        table.add_column(column, justify="right")
    for compiled in [False] if options.quick or options.smoke or not on_gpu else [False, True]:
        with tempfile.TemporaryDirectory() as folder:
            ours, flops = our_steps(size, device, compiled, Path(folder))
            runners = {"ours": ours}
            try:
                runners["transformers"] = peer_steps(size, device, compiled)
            except ImportError:
                print("transformers is not installed: only our own throughput is shown")
            speeds = throughputs(size, device, runners)
            peer = speeds.get("transformers")
            table.add_row(
                "compiled" if compiled else "eager",
                str(size.batch),
                f"{speeds['ours']:,.0f}",
                f"{speeds['ours'] * flops / peak:.0%}",
                f"{peer:,.0f}" if peer else "",
                f"{speeds['ours'] / peer:.2f}" if peer else "",
            )
            del runners, ours
            if on_gpu:
                torch.cuda.empty_cache()
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
