"""Small specs, jobs and runs that several tests of training share. They train in seconds on one thread."""

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

import glasshouse
from glasshouse.records import checkpoint, metric_log
from glasshouse.records.checkpoint import Checkpoint, Tensors
from glasshouse.records.run_folder import RunFolder, create
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue, recipes
from glasshouse.specs.spec import Spec
from glasshouse.training import loop
from glasshouse.training.job import Job

CPU = torch.device("cpu")

# Changes of the recipe demo-lm.
DEMO = (
    "data.vocabulary=280",
    "data.context=16",
    "model.width=16",
    "model.layers=2",
    "model.heads=2",
    "model.feed_forward=32",
    "training.batch=8",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=4",
    "evaluation.tokens=600",
    "evaluation.sample_tokens=8",
)
# Changes that make the model of any recipe small.
SMALL_MODEL = (
    "model.width=16",
    "model.layers=2",
    "model.heads=2",
    "training.batch=4",
    "training.precision=fp32",
    "training.threads=1",
)
# Changes of a recipe for text. The activation is not ReLU: rounding decides which of its units are on, so even fused and
# plain attention diverge after some steps.
CHARACTER_MODEL = (
    "data.context=16",
    "data.tokenizer=characters",
    "training.steps=100",
    "model.activation=gelu",
    *SMALL_MODEL,
)
# Changes of the recipes for pre-training and fine-tuning.
FINE_TUNING = (
    "training.precision=fp32",
    "training.threads=1",
    "training.batch=8",
    "data.context=12",
    "model.dropout=0",
    "evaluation.every=4",
)


def _attentions() -> list[str]:
    """The attentions of a decoder. Linformer is not causal."""
    return [name for name in catalogue.names("attention") if name not in ("none", "linformer")]


# Recipes with changes that name, between them, every part of the catalogues.
PART_CHOICES = [
    *(("language-model", f"model.attention={name}", "model.position=learned") for name in _attentions()),
    *(("language-model", f"model.position={name}") for name in catalogue.names("position")),
    *(("language-model", f"model.norm={name}") for name in catalogue.names("norm")),
    *(("language-model", f"model.connection={name}") for name in catalogue.names("connection")),
    *(("language-model", f"model.activation={name}") for name in catalogue.names("feed_forward")),
    *(
        ("language-model", "model.kind=recurrent", "model.attention=none", "model.position=none", f"model.cell={name}")
        for name in catalogue.names("cell")
    ),
    ("language-model", "training.ema=0.9", "training.label_smoothing=0.1", "training.layer_decay=0.5"),
    ("language-model", "model.head.future_tokens=2", "model.head.softcap=10", "model.value_residual=true"),
    ("language-model", "model.attention_softcap=2"),
    ("masked-model", "model.attention=linformer"),
    ("masked-model",),
]
# A recipe of every other task.
TASK_CHOICES = [
    ("arithmetic-finetune", "training.start_from=", "training.class_weights=[balanced]", "model.dropout=0"),
    ("piglatin-encoder-decoder", "model.dropout=0"),
    ("piglatin-decoder-only", "model.dropout=0"),
    ("scene-clip", "model.image_width=16", "model.image_layers=1"),
    ("embedder", "training.start_from=", "data.source=pig-latin", "data.tokenizer=characters", "data.context=24"),
]


def demo_spec(text: Path, *changes: str) -> Spec:
    return recipes.spec("demo-lm", [*DEMO, f"data.files={text}", "training.steps=12", *changes])


def train_demo(text: Path, *changes: str, name: str | None = None) -> Run:
    return glasshouse.train("demo-lm", *DEMO, f"data.files={text}", "training.steps=12", *changes, name=name, device="cpu")


def character_spec(text: Path, *changes: str) -> Spec:
    return glasshouse.runs.spec_of("language-model", f"data.files={text}", *CHARACTER_MODEL, *changes)


def with_seed(spec: Spec, seed: int, **training: float) -> Spec:
    """The spec with another seed, and with other values of fields of `training`."""
    return replace(spec, training=replace(spec.training, seed=seed, **training))


def jobs_by_seed(spec: Spec, count: int = 3, device: str = "cpu") -> list[Job]:
    """Jobs that differ only in their seed."""
    job = Job.prepare(spec, torch.device(device))
    return [replace(job, spec=with_seed(job.spec, seed)) for seed in range(count)]


def new_runs(
    text: Path, *changes: str, seeds: tuple[int, ...] = (0, 1, 2), stem: str = "r", learning_rates: tuple[float, ...] = ()
) -> list[RunFolder]:
    """New siblings STEM-SEED for every seed, of 12 steps, with a learning rate of their own if there are such."""
    spec = character_spec(text, "training.steps=12", "evaluation.every=4", *changes)
    rates = learning_rates or (spec.training.learning_rate,) * len(seeds)
    facts = {"family": [f"{stem}-{seed}" for seed in seeds]} if len(seeds) > 1 else {}
    return [
        create(with_seed(spec, seed, learning_rate=rate), f"{stem}-{seed}", stem, **facts)
        for seed, rate in zip(seeds, rates, strict=True)
    ]


def forbid_clocks(patch: pytest.MonkeyPatch) -> None:
    """A clock that this thread reads fails the test. Servers of other tests go on in their threads."""
    thread = threading.get_ident()

    def read(clock: Callable[[], float]) -> float:
        if threading.get_ident() == thread:
            pytest.fail("the choice reads a clock")
        return clock()

    for name in ("perf_counter", "perf_counter_ns", "monotonic", "process_time", "thread_time", "time", "time_ns"):
        patch.setattr(time, name, partial(read, getattr(time, name)))


def logged_metrics(run: RunFolder) -> list[dict[str, float]]:
    """The rows of the metric log without the values that a clock decides."""
    clocks = ("seconds", "tokens_per_second")
    return [{k: v for k, v in row.items() if k not in clocks} for row in metric_log.read(run.metrics_file)]


def newest_checkpoint(run: RunFolder) -> Checkpoint:
    saved = checkpoint.newest(run.checkpoints, print)
    assert saved
    return saved


def saved_weights(run: Run, step: int | None = None) -> Tensors:
    """The model's weights in the checkpoint of a step, or in the newest checkpoint."""
    steps = checkpoint.steps(run.folder.checkpoints)
    return checkpoint.load(run.folder.checkpoints, step or steps[-1]).groups["model"]


def delete_checkpoint(run: RunFolder, step: int) -> None:
    shutil.rmtree(checkpoint.folder_of(run.checkpoints, step))


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Make the loop behave as if SIGTERM arrived during this step."""
    read_results = loop._Loop._read_results

    def read_and_receive_signal(self: loop._Loop) -> None:
        read_results(self)
        if self.step == step:
            self.signals.received = 15

    monkeypatch.setattr(loop._Loop, "_read_results", read_and_receive_signal)


def write_labelled_rows(path: Path) -> None:
    """Rows of a label and a text."""
    words_by_label = {"sun": ["bright", "warm", "light"], "sea": ["wet", "blue", "salt"]}
    lines = [
        f"{label}\tthe {words[i % 3]} {words[(i + j) % 3]} {i}\n"
        for i in range(20)
        for j, (label, words) in enumerate(words_by_label.items())
    ]
    path.write_text("".join(lines))


def pretrain(folder: Path, *changes: str, name: str = "pretrained") -> Run:
    """Train a masked language model on the texts of the labelled rows."""
    rows, text = folder / "rows.tsv", folder / "text.txt"
    write_labelled_rows(rows)
    text.write_text("".join(line.split("\t")[1] for line in rows.read_text().splitlines(keepends=True)) * 4)
    shape = ("model.width=16", "model.layers=3", "model.heads=2", "data.vocabulary=280")
    words = (*FINE_TUNING, *shape, f"data.files={text}", "training.steps=8", *changes)
    return glasshouse.train("masked-model", *words, name=name, device="cpu")


def fine_tune(rows: Path, *changes: str, name: str | None = None) -> Run:
    """Train a classifier that starts from the run `pretrained`."""
    start = ("training.epochs=0", "training.steps=8", "training.start_from=pretrained")
    return glasshouse.train("classifier", *FINE_TUNING, f"data.files={rows}", *start, *changes, name=name, device="cpu")
