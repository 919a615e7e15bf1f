"""A scaling study, or a comparison of two recipes by their scaling curves, as plain data.

Knows nothing of how the laws were fitted, nor of drawing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from glasshouse.results.shown import Shown
from glasshouse.results.table import Table

Place = tuple[float, float]
BandPlace = tuple[float, float, float]  # x, low and high


@dataclass(frozen=True)
class ScalingCurve:
    """A line with its band, and points with an interval each. A curve without a name is not in the legend."""

    name: str
    line: Sequence[Place] = ()
    band: Sequence[BandPlace] = ()
    points: Sequence[Place] = ()
    intervals: Sequence[tuple[float, float]] = ()  # of the loss or the size at a point
    across: bool = False  # whether the intervals are of x
    dashed: bool = False
    hollow: bool = False  # points as rings: measured runs, one by one
    colour: int | None = None  # curves with the same number have the same colour; None: the quiet one


@dataclass(frozen=True)
class ScalingFigure:
    """Curves over logarithmic axes. `name` is that of its file."""

    name: str
    x_label: str
    y_label: str
    caption: str
    curves: Sequence[ScalingCurve]


@dataclass(frozen=True)
class ScalingContent(Shown):
    title: str
    subtitle: str
    answers: Sequence[str]
    notes: Sequence[str]
    figures: Sequence[ScalingFigure]
    tables: Sequence[Table]
