"""The steps between evaluations if nobody names them: enough for a curve, if they cost no more than the training.

The rule needs the number of steps and the size of the validation split, so it is applied when the data are prepared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

FIELD = "evaluation.every"
FEWEST_EVALUATIONS = 8
"""Evaluations that a run has at least, unless they would cost more than its training."""
# A training step has a forward and a backward pass, and the backward pass costs twice as much.
PASSES_OF_STEP = 3


@dataclass(frozen=True)
class EvaluationCost:
    """What the rule needs to know of a job. Tokens are those of one evaluation and of one training step on average."""

    steps: int
    every: int  # as the recipe has it
    evaluation_tokens: float
    step_tokens: float

    @property
    def shortest(self) -> int:
        """The shortest interval at which evaluations cost no more than the training steps."""
        step = PASSES_OF_STEP * self.step_tokens
        return max(math.ceil(self.evaluation_tokens / step), 1) if step else 1


def choose(jobs: Sequence[EvaluationCost]) -> int:
    """The interval that these jobs share: not longer than that of a recipe, and for the fewest steps."""
    steps = min(job.steps for job in jobs)
    return min(steps, *(job.every for job in jobs), max(interval_for_curve(steps), *(job.shortest for job in jobs)))


def remark(jobs: Sequence[EvaluationCost], every: int) -> str:
    """Why the chosen interval gives these jobs few evaluations; empty unless their cost is the reason."""
    steps = min(job.steps for job in jobs)
    if every <= interval_for_curve(steps) or every == min(job.every for job in jobs):
        return ""
    count = math.ceil(steps / every)
    evaluated = "evaluated only at the end" if count == 1 else f"{count} evaluations, every {every:,} steps"
    return f"{evaluated}: more would cost more than the training; {FIELD}=N changes that"


def interval_for_curve(steps: int) -> int:
    """The longest even interval that gives a run the fewest evaluations of a curve. A run of fewer steps evaluates each."""
    even = math.ceil(steps / FEWEST_EVALUATIONS)
    return even if math.ceil(steps / even) >= FEWEST_EVALUATIONS else max(steps // FEWEST_EVALUATIONS, 1)
