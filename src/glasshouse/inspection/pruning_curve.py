"""The loss against the share of heads removed, before and after further training, and the share that can be removed.

Heads are ranked on some examples, and the loss is measured on others.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from glasshouse.inspection.example_batches import example_batches
from glasshouse.inspection.head_importance import METHODS, HeadImportance, batch_loss, find_heads, importance_on
from glasshouse.inspection.pruning import least_important, original_names, without_heads
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.base import Batch
from glasshouse.training.job import Job

# Removing heads in a random order is what every ranking must beat.
RANDOM = "random"
ORDERS = (*METHODS, RANDOM)
SHARES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75)
# A rise of the loss by so small a share does not count.
TOLERANCE = 0.01


@dataclass(frozen=True)
class CurvePoint:
    """The losses without a share of the heads; `trained_loss` is that after further training, NaN without it."""

    share: float
    removed: int
    loss: float
    trained_loss: float


@dataclass(frozen=True)
class PruningCurve:
    """The points of one order of removal, from no head removed."""

    order: str
    heads: int
    points: tuple[CurvePoint, ...]

    def removable(self, trained: bool = False, tolerance: float = TOLERANCE) -> float:
        """The largest share up to which every point has a loss within the tolerance of that of the whole model.

        With `trained`, all points were trained further for the same number of steps, the whole model too.
        """
        losses = [point.trained_loss if trained else point.loss for point in self.points]
        allowed = losses[0] * (1 + tolerance)
        within = 0.0
        for point, loss in zip(self.points, losses, strict=True):
            if not loss <= allowed:
                break
            within = point.removed / self.heads
        return within


def pruning_curves(
    run: Run,
    orders: Sequence[str] = ORDERS,
    data: str | None = None,
    examples: int = 128,
    then_train: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> list[PruningCurve]:
    """The curves of several orders of removal. Every other example ranks the heads, the rest measure the loss."""
    if unknown := [order for order in orders if order not in ORDERS]:
        raise GlasshouseError(f"is not one of: {', '.join(ORDERS)}", "method", unknown[0])
    find_heads(run)
    with run.held_out_examples(data) as shard:
        batches = list(example_batches(run, shard, examples))
    ranking, measuring = (
        [{name: tensor[start::2] for name, tensor in batch.items()} for batch in batches if batch_size(batch) > 1]
        for start in (0, 1)
    )
    if not ranking:
        raise GlasshouseError(
            "leaves none to measure the loss on: the others rank the heads; give more", "examples", examples
        )
    importance = importance_on(run, ranking, [order for order in orders if order != RANDOM], "zero", progress)
    known = [order for order in orders if order in importance.scores or order == RANDOM]
    curves = []
    for number, order in enumerate(known):

        def show(share: float, number: int = number) -> None:
            progress((number + share) / len(known))

        curves.append(curve(run, importance, order, measuring, then_train, progress=show))
    return curves


def batch_size(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def curve(
    run: Run,
    importance: HeadImportance,
    order: str,
    batches: Sequence[Batch],
    then_train: int = 0,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> PruningCurve:
    """The curve of one order of removal, its losses measured on these batches. `seed` is that of the random order."""
    ranked = with_random_order(importance, seed) if order == RANDOM else importance
    points: list[CurvePoint] = []
    for index, share in enumerate(shares):
        removed = least_important(run.model, ranked, order, share)
        if points and len(removed) == points[-1].removed:
            continue  # so few heads that the next share removes no more
        model = without_heads(run.model, removed)
        trained_loss = float("nan")
        if then_train:
            trained_loss = batch_loss(run, train_further(run, model, removed, then_train), batches)
        points.append(CurvePoint(share, len(removed), batch_loss(run, model, batches), trained_loss))
        progress((index + 1) / len(shares))
    return PruningCurve(order, len(importance.heads), tuple(points))


def with_random_order(importance: HeadImportance, seed: int) -> HeadImportance:
    """The same heads with a score that is drawn at random."""
    generator = random.Random(seed)
    scores = tuple(generator.random() for _ in importance.heads)
    return replace(importance, scores={**importance.scores, RANDOM: scores})


def train_further(run: Run, model: nn.Module, removed: Sequence[str], steps: int) -> nn.Module:
    """A copy of a pruned model, trained for some steps on the run's own training data with the run's settings."""
    pruned = (*run.spec.model.pruned_heads, *original_names(run, removed))
    training = replace(run.spec.training, steps=steps, epochs=0.0, start_from="", lora_rank=0)
    spec = replace(run.spec, model=replace(run.spec.model, pruned_heads=pruned), training=training)
    engine = Job.prepare(spec, run.device, run.tokenizer).engine()
    engine.model.load_state_dict(model.state_dict())
    with torch.enable_grad():
        for step in range(steps):
            engine.step(step)
    return engine.model.eval()
