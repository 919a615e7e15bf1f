"""A task with random inputs and targets, on which any model can be trained for a few steps to check training itself.

The checks of training (do micro-batches add up to the batch, does a resumed run equal an uninterrupted one) do not depend on
the data. The task has only the methods that the training engine calls.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.batches import hash_of_integers
from glasshouse.tasks.base import Batch, Forward

EXAMPLES = 64


class RandomTask:
    """Random inputs with the shapes of a model. The loss is the cross-entropy of a random target at each position."""

    def __init__(self, model: Any, length: int) -> None:
        self.model, self.length = model, length

    def example_count(self, shard: None) -> int:
        return EXAMPLES

    def example_lengths(self, shard: None) -> None:
        return None

    def batch(self, shard: None, seed: int, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        rows = []
        for epoch, example in zip(epochs, examples, strict=True):
            number = hash_of_integers(seed, int(epoch) * EXAMPLES + int(example)) & (2**62 - 1)
            generator = torch.Generator().manual_seed(number)
            row = self.model.random_inputs(1, self.length, generator)
            row["targets"] = torch.randint(0, 2**30, (1, self.length), generator=generator)
            rows.append(row)
        return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}

    def prediction_count(self, batch: Batch) -> int:
        return len(batch["targets"])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        inputs = {name: value for name, value in batch.items() if name != "targets"}
        logits = model(**inputs).float()
        if logits.dim() == 2:
            logits = logits[:, None]
        targets = batch["targets"][:, : logits.shape[1], None] % logits.shape[-1]
        return -logits.log_softmax(-1).gather(-1, targets).mean(1).sum()
