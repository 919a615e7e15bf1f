"""Pruning: a smaller run from a trained one. Heads are removed with their weights; single weights are set to zero.

Axes: H heads.
"""

import copy
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.inspection.head_importance import HeadImportance, head_importance
from glasshouse.models import head_pruning, parameter_counts
from glasshouse.records import checkpoint, run_folder
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import Spec
from glasshouse.training import devices

# Facts of a run that its pruned copy shares.
SHARED_FACTS = ("labels", "vocabulary", "token_ids", "architecture")
TIMED_PASSES = 7
TIMED_ROWS = 8


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
    run: Run,
    share: float,
    by: str,
    name: str,
    data: str | None = None,
    examples: int = 128,
    progress: Callable[[float], None] = lambda done: None,
) -> Pruned:
    """Remove this share of all heads, the least important first; every attention keeps at least one head.

    Heads that share keys and values (grouped-query attention) are removed together.
    """
    _check_share(share)
    importance = head_importance(run, (by,), data, examples, progress=progress)
    if by not in importance.scores:
        raise GlasshouseError(
            f"{run.name} has model.attention={run.spec.model.attention!r}, which never forms attention weights; choose "
            "ablation or gradient"
        )
    removed = least_important(run.model, importance, by, share)
    if not removed:
        raise GlasshouseError(
            f"a share of {share:g} of the {len(importance.heads)} heads of {run.name} leaves nothing to remove: every "
            "attention keeps a head, and heads that share keys and values stay together; choose a larger share"
        )
    model = without_heads(run.model, removed)
    pruned_heads = (*run.spec.model.pruned_heads, *original_names(run, removed))
    spec = replace(run.spec, model=replace(run.spec.model, pruned_heads=pruned_heads))
    origin = f"{run.name} without {len(removed)} of {len(importance.heads)} heads"
    return _pruned(run, model, spec, name, origin, removed, len(importance.heads), 0)


def prune_weights(run: Run, share: float, name: str) -> Pruned:
    """Set this share of the entries of all linear layers to zero, the smallest first (magnitude pruning).

    The matrices keep their shapes, so the model is neither smaller nor faster: it shows what single weights are worth.
    """
    _check_share(share)
    count = int(share * sum(matrix.numel() for matrix in _matrices(run.model)))
    model = without_smallest_weights(run.model, count)
    zeros = sum(int((matrix == 0).sum()) for matrix in _matrices(model))
    return _pruned(run, model, run.spec, name, f"{run.name} with {zeros:,} weights of zero", (), 0, zeros)


def without_heads(model: nn.Module, removed: Sequence[str]) -> nn.Module:
    """A copy of a model without these heads."""
    smaller = copy.deepcopy(model)
    head_pruning.remove_heads(smaller, removed)
    return smaller


def without_smallest_weights(model: nn.Module, count: int) -> nn.Module:
    """A copy of a model in which so many entries of its linear layers are zero, the smallest ones."""
    sparse = copy.deepcopy(model)
    matrices = _matrices(sparse)
    if count:
        threshold = torch.cat([matrix.detach().abs().flatten() for matrix in matrices]).kthvalue(count).values
        with torch.no_grad():
            for matrix in matrices:
                matrix.masked_fill_(matrix.abs() <= threshold, 0.0)
    return sparse


def _matrices(model: nn.Module) -> list[Tensor]:
    return [module.weight for module in model.modules() if isinstance(module, nn.Linear)]


def least_important(model: nn.Module, importance: HeadImportance, by: str, share: float) -> tuple[str, ...]:
    """The names of the heads to remove."""
    groups: dict[tuple[str, int], list[int]] = {}
    for index, head in enumerate(importance.heads):
        module: Any = model.get_submodule(head.attention)
        size = module.heads // module.key_value_heads
        groups.setdefault((head.attention, (head.head - 1) // size), []).append(index)
    left = {head.attention: 0 for head in importance.heads}
    for attention, _ in groups:
        left[attention] += 1
    scores = importance.scores[by]
    wanted, removed = round(share * len(importance.heads)), list[int]()
    for (attention, _), members in sorted(groups.items(), key=lambda item: sum(scores[index] for index in item[1])):
        if left[attention] > 1 and len(removed) + len(members) <= wanted:
            left[attention] -= 1
            removed += members
    heads = [importance.heads[index] for index in sorted(removed)]
    return tuple(head_pruning.head_name(head.attention, head.head) for head in heads)


def original_names(run: Run, removed: Sequence[str]) -> list[str]:
    """The heads by their numbers in the model that nothing was removed from."""
    before: dict[str, set[int]] = {}
    for name in run.spec.model.pruned_heads:
        attention, _, number = name.rpartition(".")
        before.setdefault(attention, set()).add(int(number))
    names = []
    for name in removed:
        attention, _, number = name.rpartition(".")
        gone = before.get(attention, set())
        kept = [head for head in range(1, int(number) + len(gone) + 1) if head not in gone]
        names.append(head_pruning.head_name(attention, kept[int(number) - 1]))
    return names


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise GlasshouseError(f"the share to remove is {share:g}, but must lie between 0 and 1; try 0.5")


def _pruned(
    run: Run, model: nn.Module, spec: Spec, name: str, origin: str, removed: tuple[str, ...], heads: int, zeros: int
) -> Pruned:
    # The new run starts from its own weights, and adapters are merged into them.
    spec = replace(spec, training=replace(spec.training, lora_rank=0, start_from=""))
    folder = run_folder.create(spec, name, name)
    tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in model.state_dict().items()}
    checkpoint.save(folder.checkpoints, Checkpoint(0, {"model": tensors}, {"seconds": 0.0, "best": {}}))
    if run.folder.tokenizer_file.exists():
        shutil.copyfile(run.folder.tokenizer_file, folder.tokenizer_file)
    shared = {key: value for key, value in run.facts.items() if key in SHARED_FACTS}
    folder.record(status=Status.IMPORTED, origin=origin, **shared)
    counts = (parameter_counts.parameters(run.model), parameter_counts.parameters(model))
    return Pruned(folder, removed, heads, counts, zeros, _forward_seconds(run, model))


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
