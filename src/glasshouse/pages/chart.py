"""A chart as plain data: two axes, and series of marks in their units. Knows no format.

`svg_chart` draws one as SVG, and `figures` with matplotlib. Sizes are in pixels.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np

from glasshouse import formatting

# Dash patterns of lines: a series that has the colour of another has another dash.
DASHES: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 3), (9, 3, 2, 3))
# A smaller value is a rounding error around zero and would stretch a logarithmic axis over many empty decades.
SMALLEST_ON_LOG_AXIS = 1e-30
Numbers = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Axis:
    """A range of values, and the ticks within it with their labels; without `labels` these are the numbers."""

    low: float
    high: float
    ticks: tuple[float, ...] = ()
    log: bool = False
    labels: tuple[str, ...] = ()

    def fraction(self, value: float) -> float:
        """The position of a value on the axis: 0 at `low`, 1 at `high`."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, fraction: float) -> float:
        return self.low * (self.high / self.low) ** fraction if self.log else self.low + fraction * (self.high - self.low)

    def fractions(self, values: Numbers) -> np.ndarray:
        """The positions of values. A value far outside is placed just outside, and one without a place is NaN."""
        numbers = np.asarray(values, dtype=float)
        with np.errstate(all="ignore"):
            if self.log:
                positions = np.log(np.where(numbers > 0, numbers, np.nan) / self.low) / math.log(self.high / self.low)
            else:
                positions = (numbers - self.low) / (self.high - self.low)
        return np.clip(positions, -1, 2)

    @property
    def tick_labels(self) -> tuple[str, ...]:
        return self.labels or tuple(map(formatting.short_number, self.ticks))


def linear(low: float, high: float, tick_count: int = 5, padding: float = 0.05, most: float = math.inf) -> Axis:
    """A linear axis for the values in [low, high], padded on both sides, with about `tick_count` round ticks.

    `most` is the largest possible value of the quantity; the axis ends there.
    """
    low, high = float(low), float(high)
    # A range too narrow for round ticks is treated as a single value.
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-200):
        space = abs(low) * 0.1 or 0.5
    else:
        space = (high - low) * padding
    # Values that are never negative, such as losses, get no padding below zero.
    floor = 0.0 if low >= 0 > low - space else low - space
    ceiling = max(high, min(high + space, most))
    return Axis(floor, ceiling, _round_ticks(floor, ceiling, tick_count))


def steps(low: float, high: float, tick_count: int = 5) -> Axis:
    """An axis of training steps: whole ticks and no padding."""
    low, high = float(low), float(high)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-200):
        space = max(1.0, abs(low) * 1e-3)
        axis = Axis(low - space, high + space, (low,))
    else:
        ticks = _round_ticks(low, high, tick_count)
        # Fractional ticks remain only if the range has no whole ones.
        axis = Axis(low, high, tuple(tick for tick in ticks if tick == round(tick)) or ticks)
    first, *others = axis.tick_labels or ("",)
    return replace(axis, labels=(f"step {first}", *others))


def logarithmic(low: float, high: float, padding: float = 0.05, most: float = math.inf) -> Axis:
    """A logarithmic axis with ticks at powers of ten, and at 2 and 5 times these if few decades are shown.

    `low` must be above zero; `most` is as in `linear`.
    """
    low, high = float(low), float(high)
    factor = (high / low) ** padding if high > low * (1 + 1e-9) else 1.5
    low, high = low / factor, max(high, min(high * factor, most))
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = math.log10(high / low)
    if decades < 0.7:
        # Less than a decade may contain no power of ten at all.
        return Axis(low, high, _round_ticks(low, high, 5), log=True)
    multiples = (1, 2, 5) if decades < 3 else (1,)
    stride = max(1, math.ceil(decades / 6))
    ticks = (multiple * 10.0**power for power in range(first, last + 1, stride) for multiple in multiples)
    return Axis(low, high, tuple(tick for tick in ticks if low <= tick <= high), log=True)


def _round_ticks(low: float, high: float, tick_count: int) -> tuple[float, ...]:
    """About `tick_count` multiples of 1, 2 or 5 times a power of ten."""
    rough_stride = (high - low) / tick_count
    power = 10.0 ** math.floor(math.log10(rough_stride))
    stride = next(multiple * power for multiple in (1, 2, 5, 10) if multiple * power >= rough_stride * 0.75)
    first, last = math.ceil(low / stride - 1e-9), math.floor(high / stride + 1e-9)
    # Rounding to 12 digits removes floating-point error: 0.3, not 0.30000000000000004.
    return tuple(float(f"{index * stride:.12g}") for index in range(first, last + 1))


@dataclass(frozen=True)
class Line:
    """A line through points. NaN interrupts it; a point without neighbours is drawn as a dot."""

    x: Numbers
    y: Numbers
    _: KW_ONLY
    width: float = 1.7
    opacity: float = 1.0


@dataclass(frozen=True)
class Dots:
    """A dot at each point; `shape` is one of "dot", "ring", "cross", "diamond", "square", "up", "down", "left", "right".

    With `at_edge`, a dot whose y is outside the axis is drawn at its end.
    """

    x: Numbers
    y: Numbers
    _: KW_ONLY
    size: float = 4.5
    opacity: float = 1.0
    shape: str = "dot"
    at_edge: bool = False


@dataclass(frozen=True)
class Interval:
    """A bar from `low` to `high` at a place of the other axis; `across` lies along the x axis."""

    at: float
    low: float
    high: float
    _: KW_ONLY
    across: bool = False
    cap: float = 3
    width: float = 2.2


@dataclass(frozen=True)
class Band:
    x: Numbers
    low: Numbers
    high: Numbers
    _: KW_ONLY
    opacity: float = 0.16


Mark = Line | Dots | Interval | Band


@dataclass(frozen=True)
class MarkGroup:
    """Marks in one colour. A group with a name is in the legend; `about` is its tooltip.

    `curve` numbers the curves that a reader of a page can hide; several groups may have the same.
    """

    marks: Sequence[Mark]
    name: str = ""
    tone: str = "accent"
    dash: int = 0
    about: str = ""
    curve: int | None = None

    @property
    def classes(self) -> str:
        """The classes of its colour and dash in the style sheet of the pages."""
        return f"{self.tone} dash-{self.dash}" if self.dash else self.tone


@dataclass(frozen=True)
class Text:
    """Words at a place of the drawing, in fractions of it from the lower left, moved by pixels to the right and up."""

    text: str
    x: float
    y: float
    right: float = 0
    up: float = 0
    anchor: str = "middle"  # or "start", "end"
    tone: str = "soft"
    bold: bool = False


@dataclass(frozen=True)
class Chart:
    """A whole chart. `title` is read to those who cannot see it; without scales it stands in place of the chart.

    `scales` are the axes for y that a reader of a page can choose, and `shown` is the first. `grid` are the axes with grid
    lines, "x", "y" or "xy". With `readable`, a script tells the values of the named series, whose x are steps.
    """

    title: str
    x: Axis = Axis(0, 1)
    scales: Mapping[str, Axis] = field(default_factory=dict)
    series: Sequence[MarkGroup] = ()
    texts: Sequence[Text] = ()
    x_label: str = ""
    y_label: str = ""
    shown: str = "linear"
    grid: str = "y"
    readable: bool = False
    width: int = 460
    height: int = 270
    above: int = 0  # room for texts above the frame, and to its right
    beside: int = 0


def spanned(series: Iterable[MarkGroup]) -> tuple[np.ndarray, np.ndarray]:
    """The finite x and y of all lines, dots and bands: what axes should show. An interval may be cut."""
    marks = [mark for each in series for mark in each.marks if not isinstance(mark, Interval)]
    heights = [(mark.low, mark.high) if isinstance(mark, Band) else (mark.y,) for mark in marks]
    return finite(mark.x for mark in marks), finite(edge for edges in heights for edge in edges)


def finite(arrays: Iterable[Numbers]) -> np.ndarray:
    joined = np.concatenate([np.empty(0), *arrays])
    return joined[np.isfinite(joined)]


def allows_log_axis(values: np.ndarray) -> bool:
    """Whether these finite values (at least one) are all above zero."""
    return bool(len(values) and values.min() >= SMALLEST_ON_LOG_AXIS)
