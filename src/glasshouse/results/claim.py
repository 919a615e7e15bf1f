"""A claim, its registered plan, the measured values and the judged result, as plain data. Knows nothing of runs or drawing.

`registration.json` stores the fields of `Registration` and `values.json` those of `Measured`. A finding is never stored: it
is computed from the two, so every figure of a page can be computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

UPHELD, REFUTED, TOO_SMALL, UNDECIDED, DEPENDS = (
    "upheld",
    "refuted",
    "too small to matter",
    "undecided",
    "depends",
)
NOT_TRIED = "not tried"
# The kinds of comparison, with the question that each asks.
SUPERIORITY, NON_INFERIORITY, EQUIVALENCE, EXACT, CONTROL = KINDS = (
    "superiority",
    "non-inferiority",
    "equivalence",
    "exact",
    "control",
)


@dataclass(frozen=True)
class Quantity:
    """What is measured: a metric of an arm, with its unit and the reported value beside it."""

    label: str  # "test perplexity, Obama, ALiBi"
    metric: str  # metric and split: "test-obama.perplexity"
    unit: str = ""  # "nats per token", "%"
    scale: float = 1.0  # factor from the stored values to the unit: 100 for per cent
    higher_is_better: bool = False
    reported: str = ""  # the reported value in the same unit; empty if there is none
    per: str = "seed"  # what one value belongs to: a seed, a pretraining, a round of timing


@dataclass(frozen=True)
class Part:
    """One comparison on which a verdict rests: a quantity against another quantity, or against a figure.

    `claimed` is the direction that supports the claim. The margin is in the unit of the stored values.
    """

    name: str
    kind: str  # one of KINDS
    quantity: str  # key of a quantity
    claimed: str = "higher"  # "higher" or "lower"
    against: str = ""  # key of the quantity to compare with, paired by unit; empty: compare with `figure`
    figure: float = 0.0
    margin: float = 0.0  # smaller differences do not matter
    items: bool = False  # the items of the test set count as a sample, like the seeds
    setting: str = ""  # a choice under which the claim is judged, such as "tuned learning rates"; empty: under every choice
    decides: bool = True  # False: shown beside the verdict

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.claimed not in ("higher", "lower"):
            raise ValueError(f"kind={self.kind!r}, claimed={self.claimed!r}: unknown")
        if self.kind in (SUPERIORITY, EQUIVALENCE, CONTROL) and not self.margin > 0:
            raise ValueError(f"{self.name}: margin={self.margin} must be above 0")


@dataclass(frozen=True)
class Registration:
    """What a trial will do, written before its first run. The digest covers everything except number, date and seeds."""

    claim: str
    number: int  # of the trial in its folder, from 1
    registered: float  # seconds since 1970
    digest: str
    first_seed: int
    looks: tuple[int, ...]  # numbers of seeds after which the trial is judged
    alpha: float
    statement: str
    procedure: str
    outcomes: str  # the order in which the outcomes of a part are tested, in words
    quantities: Mapping[str, Quantity]
    parts: tuple[Part, ...]
    studies: tuple[Mapping[str, Any], ...]  # name, words, metric, matching, tuning, and a digest of each arm's spec
    replicates: int = 0  # number of the trial that this one repeats; 0 if it is no replication
    quick: bool = False


@dataclass(frozen=True)
class Series:
    """The values of one quantity: unit -> value, and with items also unit -> one value for each item. NaN: diverged."""

    values: Mapping[int, float]
    items: Mapping[int, tuple[float, ...]] | None = None


@dataclass(frozen=True)
class Measured:
    """The values that a trial measured. Facts are texts that no test uses, such as tuned learning rates."""

    series: Mapping[str, Series]
    seeds: int  # requested at the last look; 0 if nothing could be run
    facts: tuple[tuple[str, str], ...] = ()  # (what, text)
    notes: tuple[str, ...] = ()
    curves: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)  # name -> points, for a picture
    machine: Mapping[str, str] = field(default_factory=dict)
    when: float = 0.0  # seconds since 1970


@dataclass(frozen=True)
class PartResult:
    """A judged part. Numbers are quantity minus reference, in the stored unit; NaN if they could not be computed."""

    part: Part
    outcome: str  # one of these words except DEPENDS
    mean: float
    low: float
    high: float
    p: float  # of the test that decided, or of the nearest one if nothing did
    units: int
    items: int = 0
    diverged: int = 0  # units left out because one side diverged
    fragile: int | None = None  # a unit without which the outcome would be another
    smallest: float = float("nan")  # the difference that this trial would have found four times in five


@dataclass(frozen=True)
class Finding:
    verdict: str
    parts: tuple[PartResult, ...]
    by_setting: tuple[tuple[str, str], ...] = ()  # (setting, verdict) if the claim is judged under several settings


@dataclass(frozen=True)
class Trial:
    """One trial: its plan, its values and its result. `finding` is None while the trial is unfinished."""

    registration: Registration
    measured: Measured | None
    finding: Finding | None

    @property
    def verdict(self) -> str:
        return self.finding.verdict if self.finding else "unfinished"


@dataclass(frozen=True)
class LineFigure:
    """A picture of quantities over a setting: line -> setting -> key of a quantity.

    Without lines it shows the measured curves whose names begin with its own name: "NAME/line".
    """

    name: str
    x_label: str
    y_label: str
    lines: Mapping[str, Mapping[float, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class GraphNode:
    """A value in a computation graph, at a place of a grid. Columns count from the left, rows from the bottom."""

    name: str  # `h_1` is drawn with a subscript
    column: int
    row: int
    kind: str = "value"  # "input", "value" or "loss"


@dataclass(frozen=True)
class GraphEdge:
    """An arrow of a computation graph. Arrows with the same `shared` use the same weights and have the same colour."""

    source: str  # name of a node
    target: str
    label: str = ""
    shared: str = ""
    backward: bool = False  # a gradient


@dataclass(frozen=True)
class GraphFigure:
    """A drawn computation graph. It depends on no measured value."""

    name: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    caption: tuple[str, ...] = ()  # lines below the drawing


@dataclass(frozen=True)
class Case:
    """A claim as the pages show it, with all its trials in the order of their numbers."""

    name: str
    group: str
    statement: str
    source: str
    reported: str
    why: str = ""  # why one might think so
    procedure: str = ""  # the experiment in three sentences
    would_change: str = ""  # what would change the verdict
    data: str = ""  # "course data", "stand-in", "generated data" ...
    is_control: bool = False
    figures: tuple[LineFigure | GraphFigure, ...] = ()
    trials: tuple[Trial, ...] = ()
    earlier: tuple[str, ...] = ()  # earlier trials that were not registered, each in one sentence
    missing: str = ""  # why no trial can be run here, and the command that would run it
    broken: str = ""  # why the claim could not be loaded
    damage: tuple[str, ...] = ()  # what is wrong with each trial that could not be read

    @property
    def original(self) -> Trial | None:
        """The trial that decides: the first complete one of the newest registered plan."""
        complete = [trial for trial in self.trials if trial.finding and not trial.registration.quick]
        if not complete:
            return None
        digest = complete[-1].registration.digest
        return next(trial for trial in complete if trial.registration.digest == digest)

    @property
    def replication(self) -> Trial | None:
        """The first complete replication of the deciding trial."""
        original = self.original
        return next(
            (
                trial
                for trial in self.trials
                if original and trial.finding and trial.registration.replicates == original.registration.number
            ),
            None,
        )

    @property
    def verdict(self) -> str:
        """The verdict so far; "not tried" if no trial is complete."""
        return self.original.verdict if self.original else NOT_TRIED

    @property
    def replicated(self) -> bool | None:
        """Whether the replication had the same verdict, under every setting if it depends on that; None without one."""
        original, replication = self.original, self.replication
        if not original or not replication or not original.finding or not replication.finding:
            return None
        by_setting = (original.finding.by_setting, replication.finding.by_setting)
        return replication.verdict == original.verdict and (original.verdict != DEPENDS or by_setting[0] == by_setting[1])

    @property
    def changed_plan(self) -> Trial | None:
        """The newest registered plan if it differs from that of the deciding trial and is not complete yet."""
        newest = next((trial for trial in reversed(self.trials) if not trial.registration.quick), None)
        if not newest or not self.original or newest.registration.digest == self.original.registration.digest:
            return None
        return newest

    @property
    def command(self) -> str:
        """The command that reproduces the deciding trial in an empty folder, with its seeds."""
        if not self.original:
            return f"glasshouse claim {self.name}"
        plan = self.original.registration
        return f"glasshouse claim {self.name} --seeds {','.join(map(str, plan.looks))} --first-seed {plan.first_seed}"
