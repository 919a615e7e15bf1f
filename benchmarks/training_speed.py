"""Training steps beside peers in one run: ours, nanoGPT, `transformers` and a plain PyTorch model, all of the same size.

    git clone https://github.com/karpathy/nanoGPT
    python benchmarks/training_speed.py                                       # gpt2 on a GPU, the demo on a CPU
    python benchmarks/training_speed.py gpt2 --nanogpt nanoGPT                # GPT-2 small; needs a large GPU
    python benchmarks/training_speed.py shakespeare-small --nanogpt nanoGPT   # nanoGPT's setting for a laptop
    python benchmarks/training_speed.py speech-lm                             # a course's language model
    python benchmarks/training_speed.py course                                # whole commands of a course
    python benchmarks/training_speed.py --smoke                               # does it run? A few seconds, no figure

Without --nanogpt, nanoGPT is left out; the plain PyTorch model of this file always runs. Of some recipes several forms run:
as it ships, and with the architecture of the peers. Times are medians of interleaved rounds, so that a busy moment of the
machine hits all. The cases shakespeare-small, speech-lm and course need GLASSHOUSE_DATA. `course` compares whole commands,
from the start of Python to the last evaluation: the course's classifier (15 epochs) and its language model (500 steps), ours
and in plain PyTorch.
"""

import argparse
import gc
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

import glasshouse
from glasshouse.records import machine
from glasshouse.training import compute_choice, devices, precision
from glasshouse.training.job import Job

# What a recipe needs to have the architecture of GPT-2, and of nanoGPT.
AS_GPT2 = (
    *("model.position=learned", "model.norm=layer", "model.activation=gelu", "model.bias=false"),
    *("model.query_key_norm=false", "model.zero_branches=false"),
)
Run = Callable[[], None]


@dataclass(frozen=True)
class Case:
    """A recipe with overrides: our forms by name. The peers have its width, layers, heads, context, batch and vocabulary."""

    recipe: str
    forms: dict[str, tuple[str, ...]]
    compiled: bool = False
    biased: bool = False
    rounds: int = 5
    steps: int = 5


CASES = {
    # 64 x 1,024 tokens; the recipe differs from GPT-2 in its parts and its optimiser, which the form names.
    "gpt2": Case(
        "python-code",
        {
            "ours": (*AS_GPT2, "training.optimiser=adamw", "training.bf16_residual=false"),
            "ours, residual stream in bfloat16": (*AS_GPT2, "training.optimiser=adamw"),
            "ours, products in fp8 too": (*AS_GPT2, "training.optimiser=adamw", "training.fp8_products=true"),
            "ours, as python-code ships": (),
        },
        compiled=True,
    ),
    "shakespeare-small": Case(
        "shakespeare-small",
        {
            "ours, as it ships": (),
            "ours, with AdamW": ("training.optimiser=adamw",),
            "ours, nanoGPT's architecture": (*AS_GPT2, "model.feed_forward=512", "training.optimiser=adamw"),
        },
        steps=20,
    ),
    "speech-lm": Case("speech-lm", {"ours": ()}, biased=True, steps=20),
    "demo": Case("demo-lm", {"ours": ()}),
}
SMOKE = Case(
    "demo-lm",
    {"ours": ("model.width=16", "model.layers=1", "model.heads=2", "data.vocabulary=300", "training.batch=2")},
    rounds=1,
    steps=1,
)


class Block(nn.Module):
    """A pre-norm block as courses write it."""

    def __init__(self, width: int, heads: int, inner: int, bias: bool, causal: bool, activation: Callable[[Tensor], Tensor]):
        super().__init__()
        self.heads, self.causal, self.activation = heads, causal, activation
        self.norms = nn.ModuleList(nn.LayerNorm(width, bias=bias) for _ in range(2))
        self.projection, self.output = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width, bias=bias)
        self.up, self.down = nn.Linear(width, inner, bias=bias), nn.Linear(inner, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        queries, keys, values = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.projection(self.norms[0](x)).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=self.causal)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.down(self.activation(self.up(self.norms[1](x))))


class PlainTransformer(nn.Module):
    """A decoder of tokens, or an encoder with a classifier over the mean of its tokens."""

    def __init__(self, job: Job, classes: int = 0, bias: bool = True) -> None:
        super().__init__()
        model, vocabulary = job.spec.model, job.prepared.tokenizer.vocabulary
        self.tokens = nn.Embedding(vocabulary, model.width)
        self.positions = nn.Embedding(job.spec.data.context, model.width)
        activation = F.relu if model.activation == "relu" else lambda x: F.gelu(x, approximate="tanh")
        inner = model.feed_forward if model.activation == "relu" else 4 * model.width
        self.blocks = nn.Sequential(
            *(Block(model.width, model.heads, inner, bias, not classes, activation) for _ in range(model.layers))
        )
        self.norm = nn.LayerNorm(model.width, bias=bias)
        self.classifier = nn.Sequential(nn.Linear(model.width, 100), nn.ReLU(), nn.Linear(100, classes)) if classes else None
        self.head = nn.Linear(model.width, vocabulary, bias=False)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        x = self.norm(self.blocks(x))
        logits = self.head(x).flatten(0, 1) if self.classifier is None else self.classifier(x.mean(1))
        return F.cross_entropy(logits, targets.flatten())


def our_steps(job: Job, steps: int) -> Run:
    """A function that takes a few steps, in the number format and on the threads that training would choose."""
    choice = compute_choice.choose(job)
    engine, step = job.engine(choice.precision), 0

    def run() -> None:
        nonlocal step
        before = torch.get_num_threads()
        if choice.threads:
            torch.set_num_threads(choice.threads)
        for _ in range(steps):
            engine.step(step)
            step += 1
        torch.set_num_threads(before)

    return run


def loop(model: nn.Module, loss_of: Callable[[Tensor, Tensor], Tensor], job: Job, steps: int) -> Run:
    """A function that takes as many steps in a plain training loop, on random tokens."""
    device, spec, vocabulary = job.device, job.spec, job.prepared.tokenizer.vocabulary
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device.type == "cuda")
    generator = torch.Generator().manual_seed(0)
    number_format = "bf16" if device.type == "cuda" else "fp32"

    def run() -> None:
        for _ in range(steps):
            tokens = torch.randint(vocabulary, (spec.training.batch, spec.data.context + 1), generator=generator).to(device)
            with precision.context(number_format, device):
                loss = loss_of(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return run


def plain_steps(job: Job, case: Case) -> Run:
    model = PlainTransformer(job, bias=case.biased).to(job.device)
    forward = torch.compile(model) if case.compiled else model
    return loop(model, forward, job, case.steps)


def nanogpt_steps(folder: Path, job: Job, case: Case) -> Run:
    description = importlib.util.spec_from_file_location("nanogpt_model", folder / "model.py")
    assert description is not None
    assert description.loader is not None
    module = importlib.util.module_from_spec(description)
    description.loader.exec_module(module)
    size, spec = job.spec.model, job.spec
    config = module.GPTConfig(
        block_size=spec.data.context,
        vocab_size=job.prepared.tokenizer.vocabulary,
        n_layer=size.layers,
        n_head=size.heads,
        n_embd=size.width,
        dropout=0.0,
        bias=case.biased,
    )
    model = module.GPT(config).to(job.device)
    forward = torch.compile(model) if case.compiled else model
    return loop(model, lambda tokens, targets: forward(tokens, targets)[1], job, case.steps)


def transformers_steps(job: Job, case: Case) -> Run:
    import transformers

    size, spec = job.spec.model, job.spec
    config = transformers.GPT2Config(
        vocab_size=job.prepared.tokenizer.vocabulary,
        n_positions=spec.data.context,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    config._attn_implementation = "sdpa"
    model: nn.Module = transformers.GPT2LMHeadModel(config)
    model = model.to(job.device).train()
    forward = torch.compile(model) if case.compiled else model
    # Its model shifts the labels itself.
    return loop(model, lambda tokens, targets: forward(input_ids=tokens, labels=tokens).loss, job, case.steps)


def step_seconds(case: Case, device: torch.device, builders: dict[str, Callable[[], Run]]) -> dict[str, float]:
    """Seconds of a step of each. They take turns; the first round is a warm-up."""
    runners = {name: build() for name, build in builders.items()}
    times: dict[str, list[float]] = {name: [] for name in runners}
    for turn in range(case.rounds + 1):
        for name, run in runners.items():
            devices.synchronise(device)
            start = time.perf_counter()
            run()
            devices.synchronise(device)
            if turn:
                times[name].append((time.perf_counter() - start) / case.steps)
    return {name: statistics.median(spent) for name, spent in times.items()}


def groups(names: list[str], peers: list[str], device: torch.device) -> list[list[str]]:
    """Who takes turns. Not all fit into the memory of a GPU, so there each form of ours takes turns with the first peer."""
    return [names] if device.type != "cuda" else [[peers[0], name] for name in names if name not in peers]


def steps_table(case: Case, device: torch.device, nanogpt: Path | None, smoke: bool) -> Table:
    jobs = {name: Job.prepare(glasshouse.runs.spec_of(case.recipe, *form), device) for name, form in case.forms.items()}
    first = next(iter(jobs.values()))
    builders: dict[str, Callable[[], Run]] = {}
    if nanogpt:
        builders["nanoGPT"] = lambda: nanogpt_steps(nanogpt, first, case)
    else:
        print("no --nanogpt FOLDER was given, so nanoGPT is not run")
    builders["plain PyTorch"] = lambda: plain_steps(first, case)
    if importlib.util.find_spec("transformers"):
        builders["transformers"] = lambda: transformers_steps(first, case)
    else:
        print("transformers is not installed")
    peers = list(builders)
    builders |= {name: partial(our_steps, job, case.steps) for name, job in jobs.items()}
    number_format = compute_choice.choose(first).precision
    rate = devices.matmul_flop_rate(
        device, number_format, 128 if smoke else 8192 if device.type == "cuda" else 1024, seconds=1.0
    )
    table = Table(title=f"{case.recipe} on {device}: steps; matrix products alone {rate / 1e12:.3f} TFLOP/s")
    for column in ("", "ms a step", "tokens/s", "of the matrix rate", *(f"times {peer}" for peer in peers)):
        table.add_column(column, justify="right")
    tokens = first.spec.training.batch * first.spec.data.context
    shown = set[str]()
    for group in groups(list(builders), peers, device):
        seconds = step_seconds(case, device, {name: builders[name] for name in group})
        gc.collect()
        for name, spent in seconds.items():
            if name in shown:
                continue
            shown.add(name)
            share = f"{jobs[name].step_flops() / spent / rate:.0%}" if name in jobs else ""
            ratios = [f"{seconds[peer] / spent:.2f}" if peer in seconds else "" for peer in peers]
            table.add_row(name, f"{spent * 1e3:.2f}", f"{tokens / spent:,.0f}", share, *ratios)
            print(f"{name}: {spent * 1e3:.2f} ms a step, {', '.join(ratios)} times {', '.join(peers)}", flush=True)
    return table


def plain_command(recipe: str, smoke: bool) -> None:
    """The work of `glasshouse train RECIPE` in plain PyTorch: prepare the data, train, evaluate the same splits as often.

    It writes neither checkpoints nor a report, computes no baselines and samples nothing.
    """
    job = Job.prepare(glasshouse.runs.spec_of(recipe, *course_overrides(recipe, smoke)), devices.pick("cpu"))
    spec, order = job.spec, job.engine()
    classes = 3 if spec.task == "classify" else 0
    model = PlainTransformer(job, classes)
    optimiser = torch.optim.Adam(model.parameters(), lr=spec.training.learning_rate)

    def loss_of(batch: dict[str, Tensor]) -> Tensor:
        return model(batch["tokens"], batch["labels"]) if classes else model(batch["inputs"], batch["targets"])

    def evaluate(split: str) -> None:
        """As many forward passes as the split needs: whole texts, or windows that overlap by half."""
        shard = job.prepared.splits[split]
        rows = shard.documents if classes else 2 * shard.tokens_count // spec.data.context
        with torch.no_grad():
            for number in range(-(-rows // spec.training.batch)):
                loss_of(order.batch(number))

    for step in range(job.steps):
        loss = loss_of(order.batch(step))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (step + 1) % spec.evaluation.every == 0:
            evaluate("validation")
    for split in job.prepared.splits:
        if split != "train":
            evaluate(split)


def course_overrides(recipe: str, smoke: bool) -> tuple[str, ...]:
    return ("training.steps=3",) if smoke and recipe == "speech-lm" else ("training.epochs=1",) if smoke else ()


def course_table(smoke: bool, rounds: int = 3) -> Table:
    """Whole commands, ours and plain, one after the other."""
    table = Table(title="whole commands of a course, seconds (median)")
    for column in ("", "ours", "plain PyTorch", "times as fast"):
        table.add_column(column, justify="right")
    for recipe in ("speech-classifier", "speech-lm"):
        spent: dict[str, list[float]] = {"ours": [], "plain": []}
        for _ in range(1 if smoke else rounds):
            with tempfile.TemporaryDirectory() as folder:
                overrides = course_overrides(recipe, smoke)
                ours = [sys.executable, "-m", "glasshouse", "train", recipe, *overrides, "--name", "ours"]
                plain = [sys.executable, __file__, "--plain-command", recipe, *(["--smoke"] if smoke else [])]
                for name, command in (("ours", [*ours, "--device", "cpu"]), ("plain", plain)):
                    start = time.perf_counter()
                    environment = {**os.environ, "GLASSHOUSE_RUNS": folder}
                    subprocess.run(command, check=True, capture_output=True, env=environment)
                    spent[name].append(time.perf_counter() - start)
        own, peer = (statistics.median(times) for times in spent.values())
        table.add_row(recipe, f"{own:.1f}", f"{peer:.1f}", f"{peer / own:.2f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?", choices=(*CASES, "course"), help="what to train")
    parser.add_argument("--nanogpt", type=Path, help="a folder with nanoGPT")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--plain-command", help=argparse.SUPPRESS)
    parser.add_argument("--smoke", action="store_true", help="a tiny model for a few seconds: does the benchmark run?")
    options = parser.parse_args()
    if options.plain_command:
        plain_command(options.plain_command, options.smoke)
        return
    device = devices.pick(options.device)
    name = options.case or ("gpt2" if device.type == "cuda" else "demo")
    print(", ".join(f"{name} {value}" for name, value in machine.describe(str(device)).items()))
    try:
        if name == "course":
            table = course_table(options.smoke)
        else:
            table = steps_table(SMOKE if options.smoke else CASES[name], device, options.nanogpt, options.smoke)
    except glasshouse.GlasshouseError as error:
        parser.error(str(error))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
