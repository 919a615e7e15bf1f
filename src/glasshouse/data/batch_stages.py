"""Stages of training: the number of sequences in the batch of each step, and the number of pieces that each is split into.

Training has one stage unless a warm-up makes its early steps smaller (`training.batch_warmup`, `training.window_warmup`).
Everything here is a pure function of the step. A warm-up has few sizes, because a CUDA graph is recorded for each.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass

from glasshouse.specs.spec import TrainingSpec

# In the first half of a warm-up a quarter of the size is used, in its second half one half of it.
LARGEST_DIVISOR = 4


@dataclass(frozen=True)
class Stage:
    """Successive steps of one shape: each takes `batch` sequences and splits each of them into `pieces`."""

    first: int
    steps: int
    batch: int
    pieces: int = 1
    sequences_before: int = 0


class BatchStages(tuple[Stage, ...]):
    """The stages of training, in order. The last one does not end, so that any step can be asked for."""

    def at(self, step: int) -> Stage:
        return next(stage for stage in reversed(self) if stage.first <= step)

    def sequences_before(self, step: int) -> int:
        """The number of sequences in all batches before a step."""
        stage = self.at(step)
        return stage.sequences_before + (step - stage.first) * stage.batch


def constant(batch: int) -> BatchStages:
    return BatchStages([Stage(0, 1, batch)])


def stages_of(training: TrainingSpec, steps: int) -> BatchStages:
    window_warmup = training.own.get("window_warmup", 0.0)
    ends = {round(share * steps * part) for share in (training.batch_warmup, window_warmup) for part in (0.5, 1.0)}
    firsts = sorted({0} | {end for end in ends if end < steps})
    stages: list[Stage] = []
    sequences = 0
    for first, end in zip(firsts, [*firsts[1:], steps], strict=True):
        batch = training.batch // _divisor(training.batch_warmup, first, steps)
        stages.append(Stage(first, end - first, batch, _divisor(window_warmup, first, steps), sequences))
        sequences += (end - first) * batch
    return BatchStages(stages)


def _divisor(warmup: float, step: int, steps: int) -> int:
    """What the size at a step is divided by. `warmup` is the share of the steps that are in the warm-up."""
    if step < round(warmup * steps * 0.5):
        return LARGEST_DIVISOR
    return 2 if step < round(warmup * steps) else 1


def steps_for(training: TrainingSpec, examples: int) -> int:
    """The number of steps of `training.epochs` passes over so many examples: the fewest whose batches hold them all."""
    of_full_batches = max(math.ceil(training.epochs * examples / training.batch), 1)
    return bisect_left(
        range(LARGEST_DIVISOR * of_full_batches + 1),
        math.floor(training.epochs * examples),
        lo=of_full_batches,
        key=lambda steps: stages_of(training, steps).sequences_before(steps),
    )
