"""Steps whose loss or gradient is not finite: save the batch and the weights, locate the cause, and repeat the step."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import torch
from torch import Tensor, nn

from glasshouse.records import atomic_files, checkpoint, kept_json
from glasshouse.records.kept_schema import Step
from glasshouse.tasks.base import Batch
from glasshouse.training.engine import Engine


class FailureFile(TypedDict):
    """What is read of `failure.json`."""

    step: Step


@dataclass(frozen=True)
class ModuleOutput:
    """A module's output or a parameter's gradient: its largest finite magnitude, and how many values are not finite."""

    module: str
    kind: str
    largest: float
    bad: int
    total: int


def examine(engine: Engine, step: int, batch: Batch) -> tuple[float, list[ModuleOutput]]:
    """Repeat a step and record every module and parameter: (loss, outputs and gradients in order of computation)."""
    outputs: list[ModuleOutput] = []
    compiled, engine.loss_sum = engine.loss_sum, engine.task.loss_sum  # a compiled function does not call hooks
    try:
        with _record_outputs(engine.model, outputs):
            loss = float(engine.gradients(step, batch))
    finally:
        engine.loss_sum = compiled
    engine.optimiser.zero_grad(set_to_none=True)
    return loss, outputs


def first_nonfinite(outputs: list[ModuleOutput]) -> ModuleOutput | None:
    return next((output for output in outputs if output.bad), None)


def save(folder: Path, engine: Engine, step: int) -> ModuleOutput | None:
    """Write the batch and the weights before the step; returns the first output or gradient that is not finite."""
    batch = engine.batch(step)
    loss, outputs = examine(engine, step, batch)
    culprit = first_nonfinite(outputs)
    folder.mkdir(exist_ok=True)
    checkpoint.save_tensors(folder / "batch.safetensors", batch)
    checkpoint.save_tensors(folder / "model.safetensors", dict(engine.model.state_dict()))
    facts: dict[str, Any] = {"step": step, "loss": str(loss), "first": asdict(culprit) if culprit else None}
    atomic_files.write_json(folder / "failure.json", facts)
    return culprit


@contextmanager
def _record_outputs(model: nn.Module, outputs: list[ModuleOutput]) -> Iterator[None]:
    """Append every module's output and every parameter's gradient to `outputs` as it is computed."""

    def record(kind: str, name: str, *computed: Any) -> None:
        value = computed[0].grad if kind == "gradient" else computed[-1]
        if isinstance(value, Tensor) and value.is_floating_point():
            finite = torch.isfinite(value)
            largest = float(value.detach().abs().where(finite, 0).max()) if value.numel() else 0.0
            outputs.append(ModuleOutput(name, kind, largest, int((~finite).sum()), value.numel()))

    handles = [
        *(p.register_post_accumulate_grad_hook(partial(record, "gradient", name)) for name, p in model.named_parameters()),
        *(m.register_forward_hook(partial(record, "output", name or "the model")) for name, m in model.named_modules()),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def load(folder: Path) -> tuple[int, Batch, checkpoint.Tensors]:
    """(step, batch, weights) that `save` wrote."""
    remedy = "train again to repeat the failure"
    step: int = kept_json.required(folder / "failure.json", FailureFile, remedy)["step"]
    batch = checkpoint.load_tensors(folder / "batch.safetensors")
    return step, batch, checkpoint.load_tensors(folder / "model.safetensors")
