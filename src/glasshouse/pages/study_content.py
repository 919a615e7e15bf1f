"""The results of a study as plain data: its arms with every seed's value and curve, and their verdicts.

`comparison.json` stores these fields. Knows nothing of drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from glasshouse.metrics.verdicts import Difference, Summary, VerdictRule


@dataclass(frozen=True)
class Arm:
    """One of the variants that a study compares, with all its seeds. A cost is that of one run, averaged over seeds."""

    name: str  # "rotary", or "attention=additive, width=32"
    changes: dict[str, str]  # field -> value, as the user wrote it; empty for an unchanged recipe
    seeds: tuple[int, ...]
    values: dict[int, float]  # seed -> the metric at the end of training; NaN if the run diverged
    curves: dict[int, list[tuple[int, float]]]  # seed -> (step, value of StudyResults.curve)
    summary: Summary | None  # None if every seed diverged
    difference: Difference | None  # from the first arm; None for the first arm itself
    parameters: int
    steps: int
    tokens: int
    flops: int
    seconds: float
    memory: int  # bytes
    diverged: tuple[int, ...]
    notes: tuple[str, ...] = ()  # "width 60 instead of 64: 3 % fewer parameters"


@dataclass(frozen=True)
class StudyResults:
    """A whole study. Every other arm is compared with the first."""

    name: str
    recipe: str
    created: float  # seconds since 1970
    status: str  # "done", "training", "interrupted"
    metric: str
    higher_is_better: bool
    curve: str  # the metric that the curves show: "validation.loss"
    match: str  # "steps", "tokens", "flops", "parameters" or "time"
    rule: VerdictRule
    arms: tuple[Arm, ...]
    notes: tuple[str, ...] = ()  # on tuning, matching, the splits, and what the seeds share
    leaks: tuple[str, ...] = ()  # a sentence for each held-out split that contains training texts
    machine: dict[str, str] = field(default_factory=dict)
    command: str = ""  # the command line that repeats the study
