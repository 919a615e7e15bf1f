"""The base class of claims: a statement about Transformers with its source, the plan of its trial, and how it is measured.

A claim is a class in its own file and a line under `glasshouse.claim` in `pyproject.toml`; another package adds one in the
same way. It declares what it will train, what it will measure and which comparisons decide, so that the plan can be
registered before the first run. It then measures, and nothing else: the verdict follows from the registered plan and the
values. A claim knows nothing of files or pages.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from glasshouse.claims.bench import Bench, StudyPlan
from glasshouse.results.claim import GraphFigure, LineFigure, Part, Quantity, Series

__all__ = [
    "COURSE_DATA",
    "GROUPS",
    "PUBLIC_TEXT",
    "STAND_IN",
    "Bench",
    "Claim",
    "LineFigure",
    "Measurements",
    "Part",
    "Quantity",
    "Series",
    "StudyPlan",
]

# The groups of claims, in the order of the pages.
GROUPS = (
    "Attention, from its parts",
    "Positions",
    "Recurrent networks and gradients",
    "Language model and classifier from scratch",
    "Translation",
    "Pretraining and fine-tuning",
    "Scaling",
    "Working with large language models",
)
COURSE_DATA, STAND_IN, PUBLIC_TEXT = "course data", "stand-in", "public text"


@dataclass(frozen=True)
class Measurements:
    """What a claim measured: key of a quantity -> values. `facts` are (what, text) pairs that no test uses."""

    series: Mapping[str, Series]
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    curves: Mapping[str, tuple[tuple[float, float], ...]] | None = None


class Claim(ABC):
    """One statement that a trial can uphold or refute."""

    group: ClassVar[str]  # one of GROUPS
    statement: ClassVar[str]  # what is asserted, as one sentence
    source: ClassVar[str]  # who asserts it, for example "course work on positions"
    reported: ClassVar[str]  # the reported figures in one line
    why: ClassVar[str]  # why one might think so, in one or two sentences
    procedure: ClassVar[str]  # the experiment in about three sentences; part of the registered plan
    would_change: ClassVar[str]  # what would change the verdict, in one or two sentences
    data: ClassVar[str] = COURSE_DATA  # the kind of data that decides
    needs: ClassVar[tuple[str, ...]] = ()  # names of the data sources without which nothing can be measured
    programs: ClassVar[tuple[str, ...]] = ()  # programs without which nothing can be measured
    looks: ClassVar[tuple[int, ...]] = (16,)  # numbers of seeds after which the trial is judged; it stops when decided
    is_control: ClassVar[bool] = False  # a control of its group, whose answer is known beforehand
    studies: ClassVar[tuple[StudyPlan, ...]] = ()  # what will be trained
    quantities: ClassVar[Mapping[str, Quantity]]  # what will be measured
    parts: ClassVar[tuple[Part, ...]]  # which comparisons decide
    figures: ClassVar[tuple[LineFigure | GraphFigure, ...]] = ()

    def obstacle(self, device: str, quick: bool) -> str:
        """Why nothing can be measured with this device, besides missing data, and the remedy; empty if it can."""
        return ""

    @abstractmethod
    def measure(self, bench: Bench) -> Measurements:
        """Train what is left to train, and measure. Every key must be one of `quantities`."""
