"""The results of a study as plain data: its arms with every seed's value and curve, and their verdicts.

`comparison.json` stores these fields. Knows nothing of drawing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from glasshouse.results.shown import Shown
from glasshouse.verdicts.verdict import Difference, Summary, VerdictRule


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
    plain: str = ""  # the verdict in plain words, without statistics; empty without a difference
    # seed -> (step, training loss), averaged over groups of steps; empty if `curves` are the training losses themselves
    training_losses: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    caution: str = ""  # why the verdict is weak by design: few seeds, or a quick look


@dataclass(frozen=True)
class ArmPair:
    """Two arms of a study and their difference, `arm` minus `against`, corrected for the number of all pairs of arms."""

    arm: str
    against: str
    difference: Difference


@dataclass(frozen=True)
class StudyRegistration:
    """What a study fixed before its first run: when, and the SHA-256 digest of all of it."""

    time: float  # seconds since 1970
    digest: str


@dataclass(frozen=True)
class ReplicationOutcome:
    """Two studies of one question on different seeds, and the word of each arm's verdict in both; empty without one."""

    original: str
    replication: str
    words: dict[str, tuple[str, str]]  # arm -> its word in the original study and in the replication
    finished: bool = True  # whether both studies are


@dataclass(frozen=True)
class MultiverseCell:
    """The verdicts under one combination of reasonable choices. `differences` lacks an arm that has no verdict there."""

    choices: dict[str, str]  # {"learning rate": "tuned", "split": "test", "initialisation": "0.5"}
    differences: dict[str, Difference]  # arm -> its difference from the first arm
    main: bool  # whether these are the choices of the study itself


@dataclass(frozen=True)
class StudyResults(Shown):
    """A whole study. Every other arm is compared with the first, which a sweep lists among the others by its value."""

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
    items: int = 0  # the number of items that count as a sample besides the seeds; 0: they are taken as fixed
    item_name: str = ""  # what the items are: "texts"
    registration: StudyRegistration | None = None
    replications: tuple[ReplicationOutcome, ...] = ()  # of this study, or of the study that this one replicates
    multiverse: tuple[MultiverseCell, ...] = ()
    curve_most: float = math.inf  # the largest possible value of the curves' metric
    pairs: tuple[ArmPair, ...] = ()  # all pairs of arms that have a verdict; empty unless they were asked for
    first: str = ""  # the name of the first arm; empty: that of the first in the list
    edges: tuple[str, ...] = ()  # a sentence for each field whose best value is the last that was tried

    @property
    def first_arm(self) -> Arm:
        return next((arm for arm in self.arms if arm.name == self.first), self.arms[0])

    @property
    def other_arms(self) -> tuple[Arm, ...]:
        return tuple(arm for arm in self.arms if arm is not self.first_arm)
