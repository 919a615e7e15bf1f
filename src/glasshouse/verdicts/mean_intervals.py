"""Means with confidence intervals: of shares, and of pairs of texts. Pure functions of arrays.

Pairs that share a text are not independent, so texts are resampled, not pairs.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

LEVEL = 0.95
DRAWS = 1000
SEED = 0
# With fewer units an interval would promise more than it holds.
LEAST_UNITS = 6
NAN = float("nan")


@dataclass(frozen=True)
class MeanWithInterval:
    """A mean and its confidence interval; the ends are NaN if there are too few units. Without values all are NaN."""

    value: float
    low: float
    high: float
    count: int  # of values


NO_MEAN = MeanWithInterval(NAN, NAN, NAN, 0)


def share(values: Sequence[float]) -> MeanWithInterval:
    """The mean of independent values between 0 and 1, with Wilson's score interval.

    The interval is exact in large samples of zeros and ones and too wide for other values. Unlike the bootstrap's it has a
    width if all values are equal.
    """
    count = len(values)
    if not count:
        return NO_MEAN
    mean = float(np.mean(values))
    if count < LEAST_UNITS:
        return MeanWithInterval(mean, NAN, NAN, count)
    z = float(scipy.special.ndtri((1 + LEVEL) / 2))
    centre = (mean + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(mean * (1 - mean) / count + z * z / (4 * count * count))
    return MeanWithInterval(mean, max(0.0, centre - half), min(1.0, centre + half), count)


def mean_of_pairs(pairs: Sequence[tuple[Hashable, Hashable]], values: Sequence[float]) -> MeanWithInterval:
    """The mean over pairs of units, with the percentile interval of a bootstrap over units.

    A unit that is drawn twice is not paired with itself, which would look like perfect agreement.
    """
    if not pairs:
        return NO_MEAN
    numbers = np.asarray(values, float)
    units = {unit: place for place, unit in enumerate(dict.fromkeys(unit for pair in pairs for unit in pair))}
    mean = float(numbers.mean())
    if len(units) < LEAST_UNITS:
        return MeanWithInterval(mean, NAN, NAN, len(pairs))
    first, second = (np.array([units[pair[side]] for pair in pairs]) for side in (0, 1))
    drawn = np.random.default_rng(SEED).multinomial(len(units), np.full(len(units), 1 / len(units)), DRAWS)
    weights = np.where(first == second, drawn[:, first], drawn[:, first] * drawn[:, second]).astype(float)
    total = weights.sum(1)
    means = (weights @ numbers)[total > 0] / total[total > 0]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return MeanWithInterval(mean, float(low), float(high), len(pairs))


def mean(values: Sequence[float]) -> MeanWithInterval:
    """The mean of independent values, with the percentile interval of the bootstrap."""
    return mean_of_pairs([(unit, unit) for unit in range(len(values))], values)
