"""What a study found, as data: its arms with every seed's value and curve, and how they were judged. A page draws it."""

from __future__ import annotations

from dataclasses import dataclass, field

from glasshouse.metrics.verdicts import Difference, Summary, VerdictRule


@dataclass(frozen=True)
class Arm:
    """One of the things compared, with all its seeds. Costs are of one run, as a mean over the seeds."""

    name: str  # "rotary", or "attention=additive, width=32"
    changes: dict[str, str]  # field -> value, as given; empty for a recipe as it ships
    seeds: tuple[int, ...]
    values: dict[int, float]  # seed -> the metric at the end (NaN where it diverged)
    curves: dict[int, list[tuple[int, float]]]  # seed -> (step, what Comparison.curve names)
    summary: Summary | None  # None where no seed came through
    difference: Difference | None  # None for the first arm
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
    """A whole study: the first arm is the one the others are compared with."""

    name: str
    recipe: str
    created: float  # seconds since 1970
    status: str  # "done", "training", "interrupted"
    metric: str
    higher_is_better: bool
    curve: str  # what the curves show: "validation.loss"
    match: str  # "steps", "tokens", "flops", "parameters" or "time"
    rule: VerdictRule
    arms: tuple[Arm, ...]
    notes: tuple[str, ...] = ()  # tuning, matching, which splits, what the seeds share
    leaks: tuple[str, ...] = ()  # held-out texts that were trained on too, a sentence for each split
    machine: dict[str, str] = field(default_factory=dict)
    command: str = ""  # the command line that makes it again
