"""A rehearsal: any model trained for a few steps on made-up inputs, so that training itself can be examined.

What is examined (do parts of a batch add up, does a resumed run go on as if it had not stopped) does not depend on the text,
and so a model needs neither text nor task for it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.batches import mix
from glasshouse.specs.spec import Evaluation, Spec
from glasshouse.tasks.base import Batch, Forward, Task


class Rehearsal(Task):
    """Random inputs of a model's own shapes; the loss is minus the log-probability of a random answer at each place."""

    def __init__(self, model: Any, length: int) -> None:
        self.model, self.length = model, length

    @classmethod
    def of(cls, spec: Spec) -> "Rehearsal":
        raise NotImplementedError("a rehearsal is made of a model")

    def fits(self, model: nn.Module, kind: str) -> None:
        return None

    def examples(self, shard: Any) -> int:
        return 64

    def batch(self, shard: Any, seed: int, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        rows = []
        for epoch, example in zip(epochs, examples, strict=True):
            number = int(mix(np.uint64(seed), np.uint64(int(epoch) * 64 + int(example)))[0]) & (2**62 - 1)
            generator = torch.Generator().manual_seed(number)
            row = self.model.example(1, self.length, generator)
            row["answers"] = torch.randint(0, 2**30, (1, self.length), generator=generator)
            rows.append(row)
        return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}

    def count(self, batch: Batch) -> int:
        return len(batch["answers"])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        inputs = {name: value for name, value in batch.items() if name != "answers"}
        logits = model(**inputs).float()
        if logits.dim() == 2:
            logits = logits[:, None]
        answers = batch["answers"][:, : logits.shape[1], None] % logits.shape[-1]
        return -logits.log_softmax(-1).gather(-1, answers).mean(1).sum()

    def evaluate(
        self,
        model: nn.Module,
        shard: Any,
        settings: Evaluation,
        whole: bool,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, float]:
        return {}

    def tokens(self, batch: int) -> int:
        return batch * self.length

    def blank(self, rows: int) -> Batch:
        raise NotImplementedError("a rehearsal is not planned")

    def answers(self, rows: int, vocabulary: int) -> int:
        raise NotImplementedError("a rehearsal is not planned")

    def evaluated(self, splits: Mapping[str, Any], settings: Evaluation, rounds: int) -> int:
        raise NotImplementedError("a rehearsal is not planned")
