"""When a loss or gradient is not finite: keep the batch and the weights, find where it began, and show it again."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.records import atomic_files, checkpoint
from glasshouse.specs.errors import RunError
from glasshouse.tasks.base import Batch
from glasshouse.training.engine import Engine


@dataclass(frozen=True)
class ModuleOutput:
    """What one module gave: the largest magnitude, and how many of its numbers were not finite."""

    module: str
    kind: str
    largest: float
    bad: int
    total: int


def examine(engine: Engine, step: int, batch: Batch) -> tuple[float, list[ModuleOutput]]:
    """Run the step again with every module and parameter watched: (loss, findings in the order they were computed)."""
    findings: list[ModuleOutput] = []
    compiled, engine.loss_sum = engine.loss_sum, engine.task.loss_sum  # what is compiled does not see hooks
    try:
        with _watching(engine.model, findings):
            loss = float(engine.gradients(step, batch))
    finally:
        engine.loss_sum = compiled
    engine.optimiser.zero_grad(set_to_none=True)
    return loss, findings


def first_bad(findings: list[ModuleOutput]) -> ModuleOutput | None:
    """Where it began."""
    return next((finding for finding in findings if finding.bad), None)


def save(folder: Path, engine: Engine, step: int) -> ModuleOutput | None:
    """Write the batch, the weights before the step, and what was found; give where it began."""
    batch = engine.batch(step)
    loss, findings = examine(engine, step, batch)
    culprit = first_bad(findings)
    folder.mkdir(exist_ok=True)
    checkpoint.save_tensors(folder / "batch.safetensors", batch)
    checkpoint.save_tensors(folder / "model.safetensors", dict(engine.model.state_dict()))
    facts: dict[str, Any] = {"step": step, "loss": str(loss), "first": asdict(culprit) if culprit else None}
    atomic_files.write_json(folder / "failure.json", facts)
    return culprit


@contextmanager
def _watching(model: nn.Module, findings: list[ModuleOutput]) -> Iterator[None]:
    """Note every module's output and every parameter's gradient as it comes."""
    handles = []
    for name, parameter in model.named_parameters():

        def note(owner: Tensor, name: str = name) -> None:
            if owner.grad is not None:
                findings.append(_finding(name, "gradient", owner.grad))

        handles.append(parameter.register_post_accumulate_grad_hook(note))
    for name, module in model.named_modules():

        def look(_: nn.Module, __: Any, output: Any, name: str = name) -> None:
            if isinstance(output, Tensor) and output.is_floating_point():
                findings.append(_finding(name or "the model", "output", output))

        handles.append(module.register_forward_hook(look))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _finding(name: str, kind: str, value: Tensor) -> ModuleOutput:
    finite = torch.isfinite(value)
    largest = float(value.detach().abs().where(finite, 0).max()) if value.numel() else 0.0
    return ModuleOutput(name, kind, largest, int((~finite).sum()), value.numel())


def load(folder: Path) -> tuple[int, Batch, checkpoint.Tensors]:
    """(step, batch, weights) as `save` kept them."""
    try:
        step = int(json.loads((folder / "failure.json").read_text(encoding="utf-8"))["step"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            "unreadable-failure", f"{folder / 'failure.json'} cannot be read: {error}; train again to see the failure"
        ) from None
    batch = checkpoint.load_tensors(folder / "batch.safetensors")
    return step, batch, checkpoint.load_tensors(folder / "model.safetensors")
