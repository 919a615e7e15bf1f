"""Axes: which range to show, where the ticks go, how they are written. Knows numbers only, nothing of SVG or curves."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A range of values and the ticks within it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def fraction(self, value: float) -> float:
        """Where the value lies between low (0) and high (1)."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear(low: float, high: float, about: int = 5, margin: float = 0.05) -> Axis:
    """An axis around [low, high] with about that many round ticks."""
    low, high = float(low), float(high)
    # Ranges too narrow to hold round ticks count as a single value.
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-200):
        room = abs(low) * 0.1 or 0.5
    else:
        room = (high - low) * margin
    # Room below zero would suggest that a loss or a norm can be negative.
    floor = 0.0 if low >= 0 > low - room else low - room
    return Axis(floor, high + room, _round_ticks(floor, high + room, about))


def steps(low: float, high: float, about: int = 5) -> Axis:
    """An axis of training steps: its ticks are whole and its line ends where the curve ends."""
    low, high = float(low), float(high)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-200):
        room = max(1.0, abs(low) * 1e-3)
        return Axis(low - room, high + room, (low,))
    ticks = _round_ticks(low, high, about)
    # Fractions are kept only where a run is too short to have whole ones.
    return Axis(low, high, tuple(tick for tick in ticks if tick == round(tick)) or ticks)


def logarithmic(low: float, high: float, margin: float = 0.05) -> Axis:
    """An axis of powers of ten, with 2 and 5 between them where there is room; low must be above zero."""
    low, high = float(low), float(high)
    room = (high / low) ** margin if high > low * (1 + 1e-9) else 1.5
    low, high = low / room, high * room
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = math.log10(high / low)
    if decades < 0.7:
        # Within one decade round numbers read better than powers.
        return Axis(low, high, _round_ticks(low, high, 5), log=True)
    multiples = (1, 2, 5) if decades < 3 else (1,)
    stride = max(1, math.ceil(decades / 6))
    ticks = (multiple * 10.0**power for power in range(first, last + 1, stride) for multiple in multiples)
    return Axis(low, high, tuple(tick for tick in ticks if low <= tick <= high), log=True)


def _round_ticks(low: float, high: float, about: int) -> tuple[float, ...]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    stride = next(multiple * power for multiple in (1, 2, 5, 10) if multiple * power >= rough * 0.75)
    first, last = math.ceil(low / stride - 1e-9), math.floor(high / stride + 1e-9)
    # Dividing by a whole number keeps 0.3 from becoming 0.30000000000000004.
    return tuple(float(f"{index * stride:.12g}") for index in range(first, last + 1))
