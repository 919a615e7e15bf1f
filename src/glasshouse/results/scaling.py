"""A scaling study, and the comparison of two recipes by their scaling curves, as plain data.

Knows nothing of how the laws were fitted, nor of drawing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from glasshouse.results.shown import Shown

Place = tuple[float, float]


@dataclass(frozen=True)
class IsoFLOPCurve:
    """The measurements of one budget, the fitted parabola, and its minimum with an interval, if it has one."""

    budget: str
    points: Sequence[Place]
    curve: Sequence[Place]
    minimum: Place | None
    interval: tuple[float, float]
    used: bool


@dataclass(frozen=True)
class Frontier:
    """The best N over compute by one law: its line with a band. points: minima of budgets, with intervals."""

    law: str
    line: Sequence[Place]
    band: Sequence[tuple[float, float, float]]
    points: Sequence[Place] = ()
    intervals: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class ForecastCurve:
    """The losses of the largest budget over N: predicted with a band, and measured afterwards."""

    predicted: Sequence[Place]
    band: Sequence[tuple[float, float, float]]
    measured: Sequence[Place]


@dataclass(frozen=True)
class ScalingTable:
    """A table: its title, the names of its columns, and its rows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class ScalingContent(Shown):
    """Everything that the page shows.

    contours: name of a loss -> (N, D) places. fitted: (measured loss, loss by the law).
    """

    title: str
    subtitle: str
    answers: Sequence[str]
    notes: Sequence[str]
    curves: Sequence[IsoFLOPCurve]
    frontiers: Sequence[Frontier]
    contours: Sequence[tuple[str, Sequence[Place]]]
    measured: Sequence[Place]
    fitted: Sequence[Place]
    tables: Sequence[ScalingTable]
    forecast: ForecastCurve | None = None


class PageText(Protocol):
    """What every page about scaling has besides its figures."""

    @property
    def title(self) -> str: ...
    @property
    def subtitle(self) -> str: ...
    @property
    def answers(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def tables(self) -> Sequence[ScalingTable]: ...


@dataclass(frozen=True)
class LossCurve:
    """The lowest loss of a recipe over compute by one method: a line with a band, and points with intervals.

    recipe: 0 for A and 1 for B, which gives the colour.
    """

    name: str
    recipe: int
    dashed: bool
    line: Sequence[Place]
    band: Sequence[tuple[float, float, float]] = ()
    points: Sequence[Place] = ()
    intervals: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class MultiplierCurve:
    """The compute multiplier by one method over compute, with its band."""

    method: str
    line: Sequence[Place]
    band: Sequence[tuple[float, float, float]]


@dataclass(frozen=True)
class TransferContent(Shown):
    """Everything that the page shows."""

    title: str
    subtitle: str
    answers: Sequence[str]
    notes: Sequence[str]
    tables: Sequence[ScalingTable]
    curves: Sequence[LossCurve]
    multipliers: Sequence[MultiplierCurve]
