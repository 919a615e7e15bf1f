"""Estimates of a mean with its standard error, their tests and their intervals. Knows nothing about arms or verdicts.

A unit is what is drawn and trained again: a seed, a pretraining, a round. Items are what every unit is scored on: sentences,
expressions, segments. If items are a sample too, a statement holds for the population that they were drawn from. All tests
are adjusted for skewness (verdicts/skewness.py).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from glasshouse.verdicts import skewness, statistics
from glasshouse.verdicts.skewness import ONE_LOOK

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over units (seeds, pretrainings, rounds), or over units crossed with items, with its standard error."""

    mean: float
    error: float  # standard error
    degrees: float  # degrees of freedom of the error
    units: int
    items: int = 0  # number of items that count as a sample; 0: items are taken as fixed
    skewness: float = 0.0  # of the values, as in a sample of `degrees` + 1 of them
    deviation: float = math.nan  # standard deviation between units

    @property
    def sample(self) -> tuple[float, float, int]:
        """(mean, standard deviation, number) of independent values whose mean has this error and these degrees."""
        return self.sample_of(self.units)

    def sample_of(self, units: int) -> tuple[float, float, int]:
        """`sample` with another number of units, and the same items."""
        if not self.items:
            return self.mean, self.deviation, units
        error, degrees = self.error, self.degrees
        if units != self.units:
            of_units = self.deviation**2 / units
            of_items = max(self.error**2 - self.deviation**2 / self.units, 0.0)
            spread = of_units**2 / (units - 1) + of_items**2 / (self.items - 1)
            error = math.sqrt(of_units + of_items)
            degrees = (of_units + of_items) ** 2 / spread if spread else units - 1.0
        pairs = max(math.floor(degrees), 1) + 1
        return self.mean, error * math.sqrt(pairs), pairs

    def p_above(self, threshold: float = 0.0, strength: float = ONE_LOOK) -> float:
        """The one-sided p-value against the null hypothesis that the true mean is at most `threshold`.

        `strength` is that of the adjustment for skewness (`sequential_tests.Look` for several looks). One unit has no
        error and shows nothing: the p-value is 1. If every unit has the same value, that value is certain.
        """
        if math.isnan(self.error):
            return 1.0
        if self.error == 0:
            return 0.0 if self.mean > threshold else 1.0
        return float(skewness.p_above((self.mean - threshold) / self.error, self.skewness, self.degrees, strength))

    def p_below(self, threshold: float = 0.0, strength: float = ONE_LOOK) -> float:
        """The one-sided p-value against the null hypothesis that the true mean is at least `threshold`."""
        mirrored = Estimate(-self.mean, self.error, self.degrees, self.units, self.items, -self.skewness)
        return mirrored.p_above(-threshold, strength)

    def p_different(self, strength: float = ONE_LOOK) -> float:
        """The two-sided p-value against the null hypothesis that the true mean is 0."""
        return min(1.0, 2 * min(self.p_above(0.0, strength), self.p_below(0.0, strength)))

    def p_within(self, margin: float, strength: float = ONE_LOOK) -> float:
        """The p-value of the equivalence test (TOST): the true mean is smaller than the margin in both directions."""
        return max(self.p_below(margin, strength), self.p_above(-margin, strength))

    def interval(self, level: float = 0.05, strength: float = ONE_LOOK) -> tuple[float, float]:
        """The two-sided confidence interval with coverage 1 - `level`: the thresholds that neither test rejects.

        It is longer on the side of a long tail. Without an error its ends are NaN.
        """
        if math.isnan(self.error):
            return math.nan, math.nan
        below, above = skewness.interval_widths(level, self.skewness, self.degrees, strength)
        return self.mean - float(below) * self.error, self.mean + float(above) * self.error


def from_units(values: ArrayLike) -> Estimate:
    """The mean over units. All values must be finite; one value has no standard error."""
    numbers = _finite(values)
    count = len(numbers)
    if count == 1:
        return Estimate(float(numbers[0]), math.nan, math.nan, 1)
    mean, deviation = map(float, statistics.moments(numbers))
    skew = float(skewness.sample_skewness(numbers))
    return Estimate(mean, deviation / math.sqrt(count), count - 1.0, count, 0, skew, deviation)


def from_units_and_items(values: ArrayLike) -> Estimate:
    """The mean of values[unit, item] where both are samples: every unit was scored on the same items.

    One unit, or one item, shows nothing about its population: there is no standard error.
    """
    table = _finite(values)
    units, items = table.shape
    if units == 1 or items == 1:
        return Estimate(float(table.mean()), math.nan, math.nan, units, items)
    crossed = crossed_mean(table)
    figures = (float(crossed.mean), float(crossed.error), float(crossed.degrees))
    return Estimate(*figures, units, items, float(crossed.skewness), float(table.mean(axis=1).std(ddof=1)))


@dataclass(frozen=True)
class CrossedMean:
    """The grand mean of units crossed with items, with what a test of it needs; an entry for each study."""

    mean: Array
    error: Array  # standard error
    degrees: Array  # degrees of freedom of the error, an approximation
    skewness: Array  # that of a sample of `degrees` + 1 values whose mean has the same error and the same skewness


def crossed_mean(values: ArrayLike) -> CrossedMean:
    """From values[..., unit, item]; at least two of each. Leading axes are studies.

    A value is modelled as mean + effect of its unit + effect of its item + residual. The variance of the grand mean then
    follows from the mean squares of the two-way analysis of variance:

        units items variance = MS_units + MS_items - MS_residual

    It is never taken below what units, items or the residual alone would give.
    """
    table = np.asarray(values, dtype=float)
    units, items = table.shape[-2:]
    first = table[..., :1, :1]
    constant = np.all(table == first, axis=(-2, -1))
    # Scaled by the largest value, whose square could overflow.
    unit = np.maximum(np.abs(table).max(axis=(-2, -1)), np.finfo(float).tiny)
    table = table / unit[..., None, None]
    by_unit, by_item = table.mean(axis=-1), table.mean(axis=-2)
    mean = by_unit.mean(axis=-1)
    unit_effects, item_effects = by_unit - mean[..., None], by_item - mean[..., None]
    residual = table - by_unit[..., :, None] - by_item[..., None, :] + mean[..., None, None]
    free_units, free_items = units - 1, items - 1
    of_units = items * (unit_effects**2).sum(axis=-1) / free_units
    of_items = units * (item_effects**2).sum(axis=-1) / free_items
    of_residual = (residual**2).sum(axis=(-2, -1)) / (free_units * free_items)
    error = np.sqrt(_combined(of_units, of_items, of_residual) / (units * items))
    degrees = _degrees(of_units, of_items, of_residual, free_units, free_items)
    third_moment = (unit_effects**3).mean(axis=-1) / units**2 + (item_effects**3).mean(axis=-1) / items**2
    size = degrees + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        # The skewness of a mean is that of its values / sqrt(n), and the error has n - 1 where the skewness has n.
        skew = third_moment / error**3 * np.sqrt(size) * (size / degrees) ** 1.5
    return CrossedMean(
        np.where(constant, first[..., 0, 0], mean * unit),
        np.where(constant, 0.0, error * unit),
        degrees,
        np.where(constant | (error == 0), 0.0, skew),
    )


def _combined(of_units: Array, of_items: Array, of_residual: Array) -> Array:
    return np.maximum.reduce([of_units + of_items - of_residual, of_units, of_items, of_residual])


def _degrees(of_units: Array, of_items: Array, of_residual: Array, free_units: int, free_items: int) -> Array:
    """Satterthwaite's degrees of freedom, with mean squares that are raised by the relative variance of their estimate.

    Without that, a mean square of few units that is small by chance gives a small error and many degrees of freedom
    together (docs/log.md has the figures).
    """
    units, items = of_units * (1 + 2 / free_units), of_items * (1 + 2 / free_items)
    spread = units**2 / free_units + items**2 / free_items + of_residual**2 / (free_units * free_items)
    combined = _combined(units, items, of_residual) ** 2
    return np.where(spread > 0, combined / np.where(spread > 0, spread, 1.0), float(free_units))


def _finite(values: ArrayLike) -> np.ndarray:
    numbers = np.asarray(values, dtype=float)
    if not numbers.size:
        raise ValueError("a mean needs at least one value, and there is none; find out why all diverged")
    if not np.isfinite(numbers).all():
        count = int((~np.isfinite(numbers)).sum())
        raise ValueError(f"{count} of {numbers.size} values are not finite; leave out what diverged, and say so")
    return numbers
