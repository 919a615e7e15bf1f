"""A rehearsal: any model trained for a few steps on made-up inputs, so that training itself can be examined.

What is examined (do parts of a batch add up, does a resumed run go on as if it had not stopped) does not depend on the text,
and so a model needs neither text nor task for it. A rehearsal has of a task what the engine asks for, and no more.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.batches import mix
from glasshouse.tasks.base import Batch, Forward

EXAMPLES = 64


class RandomTask:
    """Random inputs of a model's own shapes; the loss is minus the log-probability of a random answer at each place."""

    def __init__(self, model: Any, length: int) -> None:
        self.model, self.length = model, length

    def example_count(self, shard: None) -> int:
        return EXAMPLES

    def example_lengths(self, shard: None) -> None:
        return None

    def batch(self, shard: None, seed: int, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        rows = []
        for epoch, example in zip(epochs, examples, strict=True):
            number = int(mix(np.uint64(seed), np.uint64(int(epoch) * EXAMPLES + int(example)))[0]) & (2**62 - 1)
            generator = torch.Generator().manual_seed(number)
            row = self.model.example(1, self.length, generator)
            row["answers"] = torch.randint(0, 2**30, (1, self.length), generator=generator)
            rows.append(row)
        return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}

    def prediction_count(self, batch: Batch) -> int:
        return len(batch["answers"])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        inputs = {name: value for name, value in batch.items() if name != "answers"}
        logits = model(**inputs).float()
        if logits.dim() == 2:
            logits = logits[:, None]
        answers = batch["answers"][:, : logits.shape[1], None] % logits.shape[-1]
        return -logits.log_softmax(-1).gather(-1, answers).mean(1).sum()
