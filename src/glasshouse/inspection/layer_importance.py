"""How important each layer is: the rise of the loss without a layer, its attention or its feed-forward part.

What a part adds to the residual stream is replaced; the stream itself passes on. Axes: B batch, T time, D width.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glasshouse.inspection.capture import capture, edit
from glasshouse.inspection.example_batches import example_batches
from glasshouse.inspection.head_importance import REPLACEMENTS, batch_loss
from glasshouse.models.head_pruning import layer_number, stack_title
from glasshouse.models.recurrent import Recurrent
from glasshouse.parts.block import Block
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.base import Batch

# The parts of a block, with the words for them.
PARTS = {"attention": "attention", "cross_attention": "cross-attention", "feed_forward": "feed-forward part"}


@dataclass(frozen=True)
class LayerDamage:
    """The rise of the loss without a layer (`part` is empty) or without one of its parts."""

    block: str  # the name of the block in the model
    layer: int
    part: str
    damage: float

    @property
    def title(self) -> str:
        return f"{stack_title(self.block)} layer {self.layer}{f', {PARTS[self.part]}' if self.part else ''}".lstrip()


@dataclass(frozen=True)
class LayerImportance:
    """The damage of every layer and every part, in the order of the forward pass."""

    layers: tuple[LayerDamage, ...]
    loss: float
    examples: int
    replacement: str


def layer_importance(
    run: Run,
    data: str | None = None,
    examples: int = 128,
    replacement: str = "zero",
    progress: Callable[[float], None] = lambda share: None,
) -> LayerImportance:
    """The damage of removing each layer and each part on held-out examples. `replacement` is as in `head_importance`."""
    if replacement not in REPLACEMENTS:
        raise GlasshouseError(f"is not one of: {', '.join(REPLACEMENTS)}", "replacement", replacement)
    removals = removable_parts(run)
    with run.held_out_examples(data) as shard:
        batches = list(example_batches(run, shard, examples))
    before = batch_loss(run, run.model, batches)
    means = _mean_outputs(run, sorted({probe for probes in removals.values() for probe in probes}), batches)
    rows = []
    for index, ((name, part), probes) in enumerate(removals.items()):
        with edit(run.model, {probe: _instead(replacement, means[probe]) for probe in probes}):
            damage = batch_loss(run, run.model, batches) - before
        rows.append(LayerDamage(name, layer_number(name), part, damage))
        progress((index + 1) / len(removals))
    return LayerImportance(tuple(rows), before, sum(len(next(iter(batch.values()))) for batch in batches), replacement)


def removable_parts(run: Run) -> dict[tuple[str, str], list[str]]:
    """(layer, part) -> the modules whose outputs are replaced; the part is empty for a whole layer.

    A recurrent layer has no parts, and nothing passes it by: its output is replaced.
    """
    if isinstance(run.model, Recurrent):
        return {(f"layers.{index}", ""): [f"layers.{index}"] for index in range(len(run.model.layers))}
    removals = {}
    for name, module in run.model.named_modules():
        if isinstance(module, Block):
            parts = [part for part in PARTS if getattr(module, part) is not None]
            removals[name, ""] = [f"{name}.{part}" for part in parts]
            removals |= {(name, part): [f"{name}.{part}"] for part in parts}
    return removals


def _instead(replacement: str, mean_D: Tensor) -> Callable[[Tensor], Tensor]:
    """What stands in place of the output (B, T, D) of a part."""
    if replacement == "resampled":
        return lambda output_BTD: output_BTD.roll(1, 0)
    return lambda output_BTD: torch.zeros_like(output_BTD) + (mean_D if replacement == "mean" else 0.0)


@torch.inference_mode()
def _mean_outputs(run: Run, names: Sequence[str], batches: Sequence[Batch]) -> dict[str, Tensor]:
    """The mean output (D) of each part."""
    means: dict[str, list[Tensor]] = {name: [] for name in names}
    for batch in batches:
        with capture(run.model, *names) as activations:
            run.task.loss_sum(run.model, batch)
        for name in names:
            means[name].append(activations[name].flatten(0, -2).mean(0))
    return {name: torch.stack(rows).mean(0) for name, rows in means.items()}
