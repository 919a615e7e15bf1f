"""Training speed beside a peer's in one run: our engine and `transformers`' GPT-2, same sizes, same optimiser, same format.

On a GPU: GPT-2 small (124 M parameters, 1,024 tokens, bfloat16), eager and compiled. On a CPU: a model of the demo's size in
float32. Times are medians of interleaved rounds. `--quick` leaves out the compiled forms.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# `tokenizers`, which transformers imports, is also the name of a benchmark beside this one.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).parent.resolve()]

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from glasshouse import models
from glasshouse.data.shards import Shard
from glasshouse.models import parameter_counts
from glasshouse.specs import spec_files
from glasshouse.tasks.next_token import NextToken
from glasshouse.training import devices
from glasshouse.training.engine import Engine
from glasshouse.training.matmul_speed import matrix_rate

ROUNDS, STEPS = 4, 5


def spec_for(device: torch.device, batch: int, compiled: bool) -> tuple:
    large = device.type == "cuda"
    model = {"width": 768, "layers": 12, "heads": 12} if large else {"width": 128, "layers": 4, "heads": 4}
    tables = {
        "data": {"source": "state-of-the-union", "context": 1024 if large else 128},
        "model": {**model, "position": "learned", "norm": "layer", "activation": "gelu", "bias": True},
        "training": {"steps": 10**6, "batch": batch, "compile": compiled, "precision": "bf16" if large else "fp32"},
    }
    return spec_files.from_tables(tables), 50304 if large else 4096


def ours(device: torch.device, batch: int, compiled: bool, folder: Path) -> tuple[Callable[[], None], int]:
    spec, vocabulary = spec_for(device, batch, compiled)
    tokens = np.random.default_rng(0).integers(0, vocabulary, 2_000_000).astype("<u2")
    tokens.tofile(folder / "train.tokens")
    shard = Shard(folder, "train", len(tokens), 1, len(tokens), 0, None, "<u2")
    model = models.build(spec.model, vocabulary, spec.data.context)
    engine = Engine(spec, 10**6, NextToken(spec.data.context), model, shard, device)
    flops = parameter_counts.training_flops(model.flops(spec.data.context)) // spec.data.context
    step = 0

    def run() -> None:
        nonlocal step
        for _ in range(STEPS):
            engine.step(step)
            step += 1

    return run, flops


def theirs(device: torch.device, batch: int, compiled: bool) -> Callable[[], None]:
    import transformers

    spec, vocabulary = spec_for(device, batch, compiled)
    config = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_positions=spec.data.context,
        n_embd=spec.model.width,
        n_layer=spec.model.layers,
        n_head=spec.model.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        attn_implementation="sdpa",
    )
    model = transformers.GPT2LMHeadModel(config).to(device).train()
    forward = torch.compile(model) if compiled else model
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    generator = np.random.default_rng(0)

    def run() -> None:
        for _ in range(STEPS):
            ids = torch.from_numpy(generator.integers(0, vocabulary, (batch, spec.data.context))).to(device)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                loss = forward(input_ids=ids, labels=ids).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    device = devices.pick(options.device)
    large = device.type == "cuda"
    peak = matrix_rate(device, "bf16" if large else "fp32", 8192 if large else 1024, seconds=1.0)
    table = Table(title=f"training speed on {device}; matrix products alone {peak / 1e12:.2f} TFLOP/s")
    for column in ("form", "batch", "ours, tokens/s", "of the matrix rate", "transformers, tokens/s", "ratio"):
        table.add_column(column, justify="right")
    forms = [False] if options.quick or not large else [False, True]
    for compiled in forms:
        for batch in (64,) if large else (16,):
            with tempfile.TemporaryDirectory() as folder:
                own, flops = ours(device, batch, compiled, Path(folder))
                runners = {"ours": own}
                try:
                    runners["transformers"] = theirs(device, batch, compiled)
                except ImportError:
                    print("transformers is not installed: only our own speed is shown")
                times: dict[str, list[float]] = {name: [] for name in runners}
                for turn in range(ROUNDS + 1):
                    for name, run in runners.items():
                        devices.synchronise(device)
                        start = time.perf_counter()
                        run()
                        devices.synchronise(device)
                        if turn:
                            times[name].append(time.perf_counter() - start)
                tokens = STEPS * batch * (1024 if large else 128)
                speeds = {name: tokens / statistics.median(spent) for name, spent in times.items()}
                theirs_speed = speeds.get("transformers")
                table.add_row(
                    "compiled" if compiled else "eager",
                    str(batch),
                    f"{speeds['ours']:,.0f}",
                    f"{speeds['ours'] * flops / peak:.0%}",
                    f"{theirs_speed:,.0f}" if theirs_speed else "",
                    f"{speeds['ours'] / theirs_speed:.2f}" if theirs_speed else "",
                )
                del runners, own
                if large:
                    torch.cuda.empty_cache()
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
