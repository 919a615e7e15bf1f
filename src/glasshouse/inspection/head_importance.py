"""How important each attention head is: by ablation, which is exact, and by two cheaper estimates.

Axes: B batch, H heads, T time, E head width.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.inspection.capture import capture, edit
from glasshouse.inspection.example_batches import example_batches
from glasshouse.models.head_pruning import attentions, layer_number, stack_title
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.base import Batch

METHODS = ("ablation", "gradient", "attention")
REPLACEMENTS = ("zero", "mean", "resampled")


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
class RankCorrelation:
    """Spearman's rank correlation of an estimate with the damage by ablation, with its 95 % interval."""

    method: str
    value: float
    low: float
    high: float


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
        """The heads from the least to the most important."""
        return sorted(range(len(self.heads)), key=lambda index: self.scores[method][index])

    def correlations(self) -> list[RankCorrelation]:
        """How well each estimate predicts the damage; empty without ablation or with fewer than five heads."""
        if "ablation" not in self.scores or len(self.heads) < 5:
            return []
        others = [method for method in self.scores if method != "ablation"]
        return [rank_correlation(method, self.scores[method], self.scores["ablation"]) for method in others]


def rank_correlation(method: str, estimate: Sequence[float], damage: Sequence[float]) -> RankCorrelation:
    """Spearman's correlation; the interval is by Fisher's transformation with the variance of Bonett and Wright (2000)."""
    from scipy import stats  # takes a second

    value = float(stats.spearmanr(estimate, damage).statistic)
    error = np.sqrt((1 + value**2 / 2) / (len(damage) - 3))
    low, high = np.tanh(np.arctanh(np.clip(value, -0.999999, 0.999999)) + 1.96 * error * np.array([-1, 1]))
    return RankCorrelation(method, value, float(low), float(high))


def find_heads(run: Run) -> list[AttentionHead]:
    """Every head of a run's model, in the order of the forward pass."""
    heads = []
    for name in attentions(run.model):
        count = int(run.model.get_submodule(name).heads)  # type: ignore[arg-type]
        heads += [AttentionHead(name, layer_number(name), head + 1) for head in range(count)]
    if not heads:
        raise GlasshouseError(
            f"{run.name} has model.attention={run.spec.model.attention!r}, which has no heads; use another run"
        )
    return heads


def head_importance(
    run: Run,
    methods: Sequence[str] = METHODS,
    data: str | None = None,
    examples: int = 128,
    replacement: str = "zero",
    progress: Callable[[float], None] = lambda share: None,
) -> HeadImportance:
    """The importance of every head on held-out examples. `replacement` is what an ablated head gives instead of its output:
    zeros, its mean over the examples, or its output for another example."""
    for value, known, option in (
        (replacement, REPLACEMENTS, "replacement"),
        *((name, METHODS, "method") for name in methods),
    ):
        if value not in known:
            raise GlasshouseError(f"is not one of: {', '.join(known)}", option, value)
    with run.held_out_examples(data) as shard:
        batches = list(example_batches(run, shard, examples))
    return importance_on(run, batches, methods, replacement, progress)


def importance_on(
    run: Run,
    batches: Sequence[Batch],
    methods: Sequence[str] = METHODS,
    replacement: str = "zero",
    progress: Callable[[float], None] = lambda share: None,
) -> HeadImportance:
    """The importance of every head on these batches. A method that the model does not support is left out."""
    heads = find_heads(run)
    scores, seconds = {}, {}
    measures = {"ablation": _by_ablation, "gradient": _by_gradient, "attention": _by_attention}
    for method in methods:
        start = time.perf_counter()
        weight = 0.9 if method == "ablation" else 0.05
        values = measures[method](run, heads, batches, replacement, lambda share, weight=weight: progress(weight * share))  # type: ignore[misc]
        if values is not None:
            scores[method] = tuple(values)
            seconds[method] = time.perf_counter() - start
    progress(1.0)
    count = sum(len(next(iter(batch.values()))) for batch in batches)
    return HeadImportance(tuple(heads), scores, seconds, batch_loss(run, run.model, batches), count, replacement)


@torch.inference_mode()
def batch_loss(run: Run, model: nn.Module, batches: Sequence[Batch]) -> float:
    """The loss per prediction of a model for the task of a run, as in training but without dropout."""
    total = sum(float(run.task.loss_sum(model, batch)) for batch in batches)
    return total / sum(run.task.prediction_count(batch) for batch in batches)


def _by_ablation(
    run: Run, heads: Sequence[AttentionHead], batches: Sequence[Batch], replacement: str, progress: Callable[[float], None]
) -> list[float]:
    before = batch_loss(run, run.model, batches)
    means = _mean_outputs(run, heads, batches) if replacement == "mean" else {}
    damages = []
    for index, head in enumerate(heads):
        with edit(run.model, {f"{head.attention}.mixed": _without(head.head - 1, replacement, means.get(head.attention))}):
            damages.append(batch_loss(run, run.model, batches) - before)
        progress((index + 1) / len(heads))
    return damages


def _without(head: int, replacement: str, mean_HE: Tensor | None) -> Callable[[Tensor], Tensor]:
    """An edit of `mixed` that replaces the output of one head."""

    def replace(mixed_BHTE: Tensor) -> Tensor:
        edited = mixed_BHTE.clone()
        if replacement == "zero":
            edited[:, head] = 0
        elif mean_HE is not None:
            edited[:, head] = mean_HE[head]
        else:
            edited[:, head] = mixed_BHTE[:, head].roll(1, 0)
        return edited

    return replace


@torch.inference_mode()
def _mean_outputs(run: Run, heads: Sequence[AttentionHead], batches: Sequence[Batch]) -> dict[str, Tensor]:
    """The mean output (H, E) of the heads of each attention."""
    names = list(dict.fromkeys(head.attention for head in heads))
    means: dict[str, list[Tensor]] = {name: [] for name in names}
    for batch in batches:
        with capture(run.model, *(f"{name}.mixed" for name in names)) as activations:
            run.task.loss_sum(run.model, batch)
        for name in names:
            means[name].append(activations[f"{name}.mixed"].mean((0, 2)))
    return {name: torch.stack(rows).mean(0) for name, rows in means.items()}


def _by_gradient(
    run: Run, heads: Sequence[AttentionHead], batches: Sequence[Batch], replacement: str, progress: Callable[[float], None]
) -> list[float]:
    names = list(dict.fromkeys(head.attention for head in heads))
    totals: dict[str, Tensor] = {}
    count = 0
    for index, batch in enumerate(batches):
        gates: dict[str, Tensor] = {}

        def gate(mixed_BHTE: Tensor, name: str, gates: dict[str, Tensor] = gates) -> Tensor:
            gates[name] = mixed_BHTE.new_ones(*mixed_BHTE.shape[:2], 1, 1).requires_grad_()
            return mixed_BHTE * gates[name]

        edits = {f"{name}.mixed": lambda mixed, name=name, gate=gate: gate(mixed, name) for name in names}
        with torch.enable_grad(), edit(run.model, edits):
            loss = run.task.loss_sum(run.model, batch)
            gradients = torch.autograd.grad(loss, list(gates.values()), allow_unused=True)
        for name, gradient in zip(gates, gradients, strict=True):
            size_H = torch.zeros(1) if gradient is None else gradient.abs().sum((0, 2, 3)).cpu()
            totals[name] = totals.get(name, torch.zeros(1)) + size_H
        count += run.task.prediction_count(batch)
        progress((index + 1) / len(batches))
    return [float(totals[head.attention][head.head - 1]) / count for head in heads]


@torch.inference_mode()
def _by_attention(
    run: Run, heads: Sequence[AttentionHead], batches: Sequence[Batch], replacement: str, progress: Callable[[float], None]
) -> list[float] | None:
    """None if an attention of the model never forms weights."""
    names = list(dict.fromkeys(head.attention for head in heads))
    if not all(hasattr(run.model.get_submodule(name), "weights") for name in names):
        return None
    totals = {name: torch.zeros(1) for name in names}
    queries = dict.fromkeys(names, 0)
    for index, batch in enumerate(batches):
        with capture(run.model, *(f"{name}.weights" for name in names)) as activations:
            run.task.loss_sum(run.model, batch)
        for name in names:
            largest_BHQ = activations[f"{name}.weights"].amax(-1)
            totals[name] = totals[name] + largest_BHQ.sum((0, 2)).cpu()
            queries[name] += largest_BHQ.shape[0] * largest_BHQ.shape[2]
        progress((index + 1) / len(batches))
    return [float(totals[head.attention][head.head - 1]) / queries[head.attention] for head in heads]
