"""How important each attention head and each layer is: by ablation, which is exact; of heads also by two cheaper estimates.

Axes: B batch, H heads, T time, D width, E head width.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.inspection.capture import edit
from glasshouse.inspection.example_batches import batch_size, captured
from glasshouse.metrics.adequacy_correlation import CorrelationEstimate
from glasshouse.models.head_pruning import layer_number, stack_title
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.block import Block
from glasshouse.records.progress_bar import part
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.base import Batch, Progress, no_progress

METHODS = ("ablation", "gradient", "attention")
REPLACEMENTS = ("zero", "mean", "resampled")
Edits = Mapping[str, Callable[[Tensor], Tensor]]


@dataclass(frozen=True)
class AttentionHead:
    """One head: the name of its attention in the model, its layer and its number, both counted from 1."""

    attention: str
    layer: int
    head: int

    @property
    def title(self) -> str:
        return f"{stack_title(self.attention)} layer {self.layer}, head {self.head}".lstrip()


@dataclass(frozen=True)
class HeadImportance:
    """The importance of every head by each method; larger is more important.

    "ablation" is the rise of the loss without the head; "gradient" is the mean size of the derivative of the loss by the
    head's gate (Michel et al. 2019); "attention" is the mean of the largest weight of a query.
    """

    heads: tuple[AttentionHead, ...]
    scores: dict[str, tuple[float, ...]]
    seconds: dict[str, float]
    loss: float
    examples: int
    replacement: str

    def order(self, method: str) -> list[int]:
        return sorted(range(len(self.heads)), key=lambda index: self.scores[method][index])

    def correlations(self) -> dict[str, CorrelationEstimate]:
        """How well each estimate predicts the damage; empty without ablation or with fewer than five heads."""
        if "ablation" not in self.scores or len(self.heads) < 5:
            return {}
        damage = self.scores["ablation"]
        return {name: rank_correlation(scores, damage) for name, scores in self.scores.items() if name != "ablation"}


def rank_correlation(estimate: Sequence[float], damage: Sequence[float]) -> CorrelationEstimate:
    """Spearman's correlation; the 95 % interval is by Fisher's transformation (variance of Bonett and Wright, 2000)."""
    from scipy import stats  # takes a second

    value = float(stats.spearmanr(estimate, damage).statistic)
    error = np.sqrt((1 + value**2 / 2) / (len(damage) - 3))
    low, high = np.tanh(np.arctanh(np.clip(value, -0.999999, 0.999999)) + 1.96 * error * np.array([-1, 1]))
    return CorrelationEstimate(value, float(low), float(high))


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


def find_heads(run: Run) -> list[AttentionHead]:
    heads = [
        AttentionHead(name, layer_number(name), head + 1)
        for name, module in run.model.named_modules()
        if isinstance(module, Attention)
        for head in range(module.heads)
    ]
    if not heads:
        raise GlasshouseError(
            f"{run.name} has model.attention={run.spec.model.attention!r}, which has no heads; use another run"
        )
    return heads


def head_importance(
    run: Run,
    batches: Sequence[Batch],
    methods: Sequence[str] = METHODS,
    replacement: str = "zero",
    progress: Progress = no_progress,
) -> HeadImportance:
    """The importance of every head on these batches. A method that the model does not support is left out.

    `replacement` is what an ablated head gives instead of its output: zeros, its mean over the examples, or its output for
    another example.
    """
    _check_replacement(replacement)
    if unknown := [method for method in methods if method not in METHODS]:
        raise GlasshouseError(f"is not one of: {', '.join(METHODS)}", "method", unknown[0])
    heads = find_heads(run)
    scores, seconds = {}, {}
    measures: dict[str, Callable[..., list[float] | None]] = {
        "ablation": partial(_by_ablation, replacement=replacement),
        "gradient": _by_gradient,
        "attention": _by_attention,
    }
    for number, method in enumerate(methods):
        start = time.perf_counter()
        values = measures[method](run, heads, batches, progress=part(progress, number, len(methods)))
        if values is not None:
            scores[method] = tuple(values)
            seconds[method] = time.perf_counter() - start
    count = sum(map(batch_size, batches))
    return HeadImportance(tuple(heads), scores, seconds, batch_loss(run, run.model, batches), count, replacement)


def layer_importance(
    run: Run, batches: Sequence[Batch], replacement: str = "zero", progress: Progress = no_progress
) -> LayerImportance:
    """The damage of removing each layer and each part on these batches. `replacement` is as in `head_importance`.

    What a part adds to the residual stream is replaced; the stream itself passes on.
    """
    _check_replacement(replacement)
    removals = removable_parts(run)
    instead = _replacements(run, {probe for probes in removals.values() for probe in probes}, batches, replacement)
    edits = [{probe: instead[probe] for probe in probes} for probes in removals.values()]
    rows = tuple(
        LayerDamage(name, layer_number(name), part, damage)
        for (name, part), damage in zip(removals, _damages(run, batches, edits, progress), strict=True)
    )
    return LayerImportance(rows, batch_loss(run, run.model, batches), sum(map(batch_size, batches)), replacement)


def removable_parts(run: Run) -> dict[tuple[str, str], list[str]]:
    """(layer, part) -> the modules whose outputs are replaced; the part is empty for a whole layer.

    A recurrent layer has no parts, and nothing passes it by: its output is replaced.
    """
    removals: dict[tuple[str, str], list[str]] = {}
    for name, module in run.model.named_modules():
        if isinstance(module, Block):
            parts = [part for part in PARTS if getattr(module, part) is not None]
            removals[name, ""] = [f"{name}.{part}" for part in parts]
            removals |= {(name, part): [f"{name}.{part}"] for part in parts}
    return removals or {(name, ""): [name] for name in run.model.layer_outputs(run.model.text_stacks[-1])}


@torch.inference_mode()
def batch_loss(run: Run, model: nn.Module, batches: Sequence[Batch]) -> float:
    """The loss per prediction of a model for the task of a run, as in training but without dropout."""
    total = sum(float(run.task.loss_sum(model, batch)) for batch in batches)
    return total / sum(run.task.prediction_count(batch) for batch in batches)


def _check_replacement(replacement: str) -> None:
    if replacement not in REPLACEMENTS:
        raise GlasshouseError(f"is not one of: {', '.join(REPLACEMENTS)}", "replacement", replacement)


def _damages(run: Run, batches: Sequence[Batch], ablations: Sequence[Edits], progress: Progress) -> list[float]:
    before, damages = batch_loss(run, run.model, batches), []
    for index, edits in enumerate(ablations):
        with edit(run.model, edits):
            damages.append(batch_loss(run, run.model, batches) - before)
        progress((index + 1) / len(ablations))
    return damages


@torch.inference_mode()
def _replacements(run: Run, names: Iterable[str], batches: Sequence[Batch], replacement: str) -> Edits:
    """The function of each probe's output that gives its replacement: zeros, the mean, or another example's output."""
    if replacement == "zero":
        return dict.fromkeys(names, torch.zeros_like)
    if replacement == "resampled":
        return dict.fromkeys(names, lambda output: output.roll(1, 0))
    means: dict[str, list[Tensor]] = {name: [] for name in names}
    for _, activations in captured(run, batches, means):
        for name, rows in means.items():
            # Over the batch and the time, of (B, T, D) and of (B, H, T, E).
            rows.append(activations[name].mean((0, -2), keepdim=True))
    return {name: torch.stack(rows).mean(0).expand_as for name, rows in means.items()}


def _by_ablation(
    run: Run, heads: Sequence[AttentionHead], batches: Sequence[Batch], replacement: str, progress: Progress
) -> list[float]:
    instead = _replacements(run, _probes(heads, "mixed"), batches, replacement)

    def without(head: AttentionHead, mixed_BHTE: Tensor) -> Tensor:
        edited = mixed_BHTE.clone()
        edited[:, head.head - 1] = instead[f"{head.attention}.mixed"](mixed_BHTE)[:, head.head - 1]
        return edited

    return _damages(run, batches, [{f"{head.attention}.mixed": partial(without, head)} for head in heads], progress)


def _by_gradient(run: Run, heads: Sequence[AttentionHead], batches: Sequence[Batch], progress: Progress) -> list[float]:
    totals = dict.fromkeys(_probes(heads, "mixed"), torch.zeros(1))
    gates: dict[str, Tensor] = {}

    def gate(name: str, mixed_BHTE: Tensor) -> Tensor:
        gates[name] = mixed_BHTE.new_ones(*mixed_BHTE.shape[:2], 1, 1).requires_grad_()
        return mixed_BHTE * gates[name]

    for index, batch in enumerate(batches):
        gates.clear()
        with torch.enable_grad(), edit(run.model, {name: partial(gate, name) for name in totals}):
            loss = run.task.loss_sum(run.model, batch)
            gradients = torch.autograd.grad(loss, list(gates.values()), allow_unused=True, materialize_grads=True)
        for name, gradient in zip(gates, gradients, strict=True):
            totals[name] = totals[name] + gradient.abs().sum((0, 2, 3)).cpu()
        progress((index + 1) / len(batches))
    count = sum(run.task.prediction_count(batch) for batch in batches)
    return [float(totals[f"{head.attention}.mixed"][head.head - 1]) / count for head in heads]


@torch.inference_mode()
def _by_attention(
    run: Run, heads: Sequence[AttentionHead], batches: Sequence[Batch], progress: Progress
) -> list[float] | None:
    """None if an attention of the model never forms weights."""
    if not all(hasattr(run.model.get_submodule(head.attention), "weights") for head in heads):
        return None
    totals = dict.fromkeys(_probes(heads, "weights"), torch.zeros(1))
    queries = dict.fromkeys(totals, 0)
    for index, (_, activations) in enumerate(captured(run, batches, totals)):
        for name in totals:
            largest_BHQ = activations[name].amax(-1)
            totals[name] = totals[name] + largest_BHQ.sum((0, 2)).cpu()
            queries[name] += largest_BHQ.shape[0] * largest_BHQ.shape[2]
        progress((index + 1) / len(batches))
    names = [f"{head.attention}.weights" for head in heads]
    return [float(totals[name][head.head - 1]) / queries[name] for name, head in zip(names, heads, strict=True)]


def _probes(heads: Sequence[AttentionHead], probe: str) -> list[str]:
    """The probe of every attention with these heads."""
    return list(dict.fromkeys(f"{head.attention}.{probe}" for head in heads))
