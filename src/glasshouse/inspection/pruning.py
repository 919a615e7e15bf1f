"""Pruning: a smaller run from a trained one, and the loss against the share of heads removed.

Heads are removed with their weights; single weights are set to zero. Axes: H heads.
"""

import copy
import random
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.inspection.example_batches import batch_size
from glasshouse.inspection.importance import METHODS, HeadImportance, batch_loss, head_importance
from glasshouse.models import head_pruning, parameter_counts
from glasshouse.records import checkpoint, run_folder
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.records.progress_bar import part
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import Batch, Progress, no_progress
from glasshouse.training import devices
from glasshouse.training.job import Job

# Facts of a run that its pruned copy shares.
SHARED_FACTS = ("labels", "vocabulary", "token_ids", "architecture")
TIMED_PASSES = 7
TIMED_ROWS = 8
# Removing heads in a random order is what every ranking must beat.
RANDOM = "random"
ORDERS = (*METHODS, RANDOM)
SHARES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75)
# A rise of the loss by so small a share does not count.
TOLERANCE = 0.01


@dataclass(frozen=True)
class Pruned:
    """The new run, the heads that it lacks, and both sizes and speeds."""

    run: RunFolder
    removed: tuple[str, ...]
    heads: int  # of the old run
    parameters: tuple[int, int]  # before and after; a weight that is zero counts
    zeros: int  # weights that were set to zero
    forward_seconds: tuple[float, float]  # of one batch, before and after


def prune_heads(
    run: Run, batches: Sequence[Batch], share: float, by: str, name: str, progress: Progress = no_progress
) -> Pruned:
    """Remove this share of all heads, the least important on these batches first; every attention keeps at least one.

    Heads that share keys and values (grouped-query attention) are removed together.
    """
    _check_share(share)
    importance = head_importance(run, batches, (by,), progress=progress)
    if by not in importance.scores:
        attention = run.spec.model.attention
        raise GlasshouseError(f"{run.name} has model.attention={attention!r} without weights; choose ablation or gradient")
    removed = least_important(run.model, importance, by, share)
    if not removed:
        raise GlasshouseError(f"a share of {share:g} of {len(importance.heads)} heads removes none; choose a larger share")
    heads = len(importance.heads)
    origin = f"{run.name} without {len(removed)} of {heads} heads"
    return _write(run, without_heads(run.model, removed), name, origin, removed, heads)


def prune_weights(run: Run, share: float, name: str) -> Pruned:
    """Set this share of the entries of all linear layers to zero, the smallest first (magnitude pruning).

    The matrices keep their shapes, so the model is neither smaller nor faster: it shows what single weights are worth.
    """
    _check_share(share)
    model = without_smallest_weights(run.model, int(share * sum(matrix.numel() for matrix in _matrices(run.model))))
    zeros = sum(int((matrix == 0).sum()) for matrix in _matrices(model))
    return _write(run, model, name, f"{run.name} with {zeros:,} weights of zero", zeros=zeros)


def without_heads(model: nn.Module, removed: Sequence[str]) -> nn.Module:
    smaller = copy.deepcopy(model)
    head_pruning.remove_heads(smaller, removed)
    return smaller


def without_smallest_weights(model: nn.Module, zeros: int) -> nn.Module:
    """A copy of a model in which so many entries of its linear layers are zero, the smallest ones."""
    sparse = copy.deepcopy(model)
    matrices = _matrices(sparse)
    if zeros:
        threshold = torch.cat([matrix.detach().abs().flatten() for matrix in matrices]).kthvalue(zeros).values
        with torch.no_grad():
            for matrix in matrices:
                matrix.masked_fill_(matrix.abs() <= threshold, 0.0)
    return sparse


def _matrices(model: nn.Module) -> list[Tensor]:
    return [module.weight for module in model.modules() if isinstance(module, nn.Linear)]


def least_important(model: nn.Module, importance: HeadImportance, by: str, share: float) -> tuple[str, ...]:
    groups: dict[tuple[str, int], list[int]] = {}
    for index, head in enumerate(importance.heads):
        module: Any = model.get_submodule(head.attention)
        size = module.heads // module.key_value_heads
        groups.setdefault((head.attention, (head.head - 1) // size), []).append(index)
    left = Counter(attention for attention, _ in groups)
    scores = importance.scores[by]
    wanted, removed = round(share * len(importance.heads)), list[int]()
    for (attention, _), members in sorted(groups.items(), key=lambda item: sum(scores[index] for index in item[1])):
        if left[attention] > 1 and len(removed) + len(members) <= wanted:
            left[attention] -= 1
            removed += members
    heads = [importance.heads[index] for index in sorted(removed)]
    return tuple(f"{head.attention}.{head.head}" for head in heads)


def _pruned_spec(run: Run, removed: Sequence[str]) -> Spec:
    """The spec of a run without these heads, which it names by their numbers in the model that nothing was removed from."""
    gone = run.spec.model.pruned_heads
    names = list(gone)
    for name in removed:
        attention, _, number = name.rpartition(".")
        originals = (f"{attention}.{head}" for head in count(1))
        kept = (original for original in originals if original not in gone)
        names.append(next(islice(kept, int(number) - 1, None)))
    # The weights are the run's own, and adapters are merged into them.
    training = replace(run.spec.training, lora_rank=0, start_from="")
    return replace(run.spec, model=replace(run.spec.model, pruned_heads=tuple(names)), training=training)


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise GlasshouseError(f"the share to remove is {share:g}, but must lie between 0 and 1; try 0.5")


def _write(
    run: Run, model: nn.Module, name: str, origin: str, removed: tuple[str, ...] = (), heads: int = 0, zeros: int = 0
) -> Pruned:
    """Write the new run, and measure both models."""
    folder = run_folder.create(_pruned_spec(run, removed), name, name)
    tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in model.state_dict().items()}
    checkpoint.save(folder.checkpoints, Checkpoint(0, {"model": tensors}, {"seconds": 0.0, "best": {}}))
    if run.folder.tokenizer_file.exists():
        shutil.copyfile(run.folder.tokenizer_file, folder.tokenizer_file)
    shared = {key: value for key, value in run.facts.items() if key in SHARED_FACTS}
    folder.record(status=Status.IMPORTED, origin=origin, **shared)
    sizes = (parameter_counts.parameters(run.model), parameter_counts.parameters(model))
    return Pruned(folder, removed, heads, sizes, zeros, _forward_seconds(run, model))


@torch.inference_mode()
def _forward_seconds(run: Run, smaller: nn.Module) -> tuple[float, float]:
    """The median times of a forward pass of both models, measured in turns."""
    batch = {name: tensor.to(run.device) for name, tensor in run.task.largest_batch(TIMED_ROWS).items()}
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMED_PASSES + 1):
        for model, seconds in zip((run.model, smaller), times, strict=True):
            devices.synchronise(run.device)
            start = time.perf_counter()
            run.task.loss_sum(model, batch)
            devices.synchronise(run.device)
            seconds.append(time.perf_counter() - start)
    return statistics.median(times[0][1:]), statistics.median(times[1][1:])


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
    batches: Sequence[Batch],
    orders: Sequence[str] = ORDERS,
    then_train: int = 0,
    progress: Progress = no_progress,
) -> list[PruningCurve]:
    """The curves of several orders of removal. Every other example ranks the heads, the rest measure the loss."""
    if unknown := [order for order in orders if order not in ORDERS]:
        raise GlasshouseError(f"is not one of: {', '.join(ORDERS)}", "method", unknown[0])
    batches = [batch for batch in batches if batch_size(batch) > 1]
    if not batches:
        raise GlasshouseError("leaves none to measure the loss on: the others rank the heads; give more", "examples", 1)
    ranking, measuring = (
        [{name: tensor[start::2] for name, tensor in batch.items()} for batch in batches] for start in (0, 1)
    )
    importance = head_importance(run, ranking, [order for order in orders if order != RANDOM], progress=progress)
    curves = []
    known = [order for order in orders if order in importance.scores or order == RANDOM]
    for number, order in enumerate(known):
        show = part(progress, number, len(known))
        curves.append(curve(run, importance, order, measuring, then_train, progress=show))
    return curves


def curve(
    run: Run,
    importance: HeadImportance,
    order: str,
    batches: Sequence[Batch],
    then_train: int = 0,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    progress: Progress = no_progress,
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
    spec = _pruned_spec(run, removed)
    spec = replace(spec, training=replace(spec.training, steps=steps, epochs=0.0))
    engine = Job.prepare(spec, run.device, run.tokenizer).engine()
    engine.model.load_state_dict(model.state_dict())
    with torch.enable_grad():
        for step in range(steps):
            engine.step(step)
    return engine.model.eval()
