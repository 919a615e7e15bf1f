"""Batches of a run's held-out examples for statistics over many texts, and the sequences that each stack of the model reads.

Axes: B batch, T time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.shards import Shard
from glasshouse.inspection.capture import capture
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.base import IGNORED, Batch
from glasshouse.tasks.describe import Describe
from glasshouse.tasks.translate import Translate

BATCH = 16


@dataclass(frozen=True)
class Sequences:
    """Token ids (B, T) and the number of real tokens (B) in each row."""

    ids_BT: Tensor
    lengths_B: Tensor


def refuse_pictures(run: Run) -> None:
    """Refuse a run that describes pictures where everything that a model reads must be a text."""
    if isinstance(run.task, Describe):
        raise GlasshouseError(
            f"{run.name} describes pictures, so it cannot read a text alone; use a run whose input is a text"
        )


def example_batches(run: Run, shard: Shard, examples: int) -> Iterator[Batch]:
    """Batches of up to `examples` examples, spread evenly over a split; 0 means all. They do not depend on chance."""
    count = run.task.example_count(shard)
    chosen = np.unique(np.linspace(0, count - 1, min(examples or count, count)).astype(np.int64))
    for begin in range(0, len(chosen), BATCH):
        rows = chosen[begin : begin + BATCH]
        batch = run.task.batch(shard, 0, np.zeros(len(rows), np.int64), rows)
        yield {name: tensor.to(run.device) for name, tensor in batch.items()}


def held_out_batches(run: Run, data: str | PathLike[str] | None, examples: int) -> list[Batch]:
    """The `example_batches` of the run's held-out data, or of a file."""
    with run.held_out_examples(None if data is None else str(data)) as shard:
        return list(example_batches(run, shard, examples))


def batch_size(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def captured(run: Run, batches: Iterable[Batch], names: Iterable[str]) -> Iterator[tuple[Batch, dict[str, Tensor]]]:
    """Each batch with the activations of these probes in its forward pass."""
    for batch in batches:
        with capture(run.model, *names) as activations:
            run.task.loss_sum(run.model, batch)
        yield batch, activations


def sequences(run: Run, batch: Batch) -> dict[str, Sequences]:
    """What the encoder of an encoder-decoder reads ("encoder"), and what the stack that predicts reads ("")."""
    if "tokens" in batch:
        return {"": Sequences(batch["tokens"], batch["lengths"])}
    inputs = batch["inputs"]
    if not isinstance(run.task, Translate | Describe):  # windows of a long text have no padding
        return {"": Sequences(inputs, torch.full((len(inputs),), inputs.shape[1], device=inputs.device))}
    # A row ends with its last target.
    places_T = torch.arange(1, inputs.shape[1] + 1, device=inputs.device)
    predicting = Sequences(inputs, torch.where(batch["targets"] != IGNORED, places_T, 0).amax(1))
    if "source" not in batch:
        return {"": predicting}
    return {"encoder": Sequences(batch["source"], batch["lengths"]), "": predicting}
