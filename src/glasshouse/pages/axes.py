"""Axes of charts: the range to show and the positions of the ticks. Knows nothing of SVG or curves."""

import math
from collections.abc import Callable
from dataclasses import dataclass

# From a value to a position in pixels.
Scale = Callable[[float], float]


@dataclass(frozen=True)
class Axis:
    """A range of values and the ticks within it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def fraction(self, value: float) -> float:
        """The position of a value on the axis: 0 at `low`, 1 at `high`."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


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
        return Axis(low - space, high + space, (low,))
    ticks = _round_ticks(low, high, tick_count)
    # Fractional ticks remain only if the range has no whole ones.
    return Axis(low, high, tuple(tick for tick in ticks if tick == round(tick)) or ticks)


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
