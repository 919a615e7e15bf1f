"""Means with confidence intervals: of shares of few or many items, and of pairs of texts. Pure functions of arrays.

Pairs that share a text are not independent, so texts are resampled, not pairs. A t interval of zeros and ones is too short
at the ends, so a `Proportion` of few items has the interval of a binomial distribution (Clopper and Pearson, 1934). Answers
to one question are not independent; they count as so many as have the same variance (Korn and Graubard, 1998).
"""

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from glasshouse.verdicts.estimates import from_units

LEVEL = 0.95
DRAWS = 1000
SEED = 0
# With fewer units an interval would promise more than it holds.
LEAST_UNITS = 6
# With more pairs, all signs are not tried; the paired t-test is then close.
MOST_FLIPPED = 14
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


@dataclass(frozen=True)
class Proportion:
    """A share with its confidence interval. `effective` is the number of independent trials that would be as certain."""

    share: float
    low: float
    high: float
    effective: float


def binomial_interval(share: float, trials: float, level: float = 0.05) -> tuple[float, float]:
    """The interval of Clopper and Pearson with coverage of at least 1 - `level`; trials need not be a whole number."""
    hits = share * trials
    low = 0.0 if hits <= 0 else float(scipy.special.betaincinv(hits, trials - hits + 1, level / 2))
    high = 1.0 if hits >= trials else float(scipy.special.betaincinv(hits + 1, trials - hits, 1 - level / 2))
    return low, high


def from_questions(shares: Sequence[float], trials: int, level: float = 0.05) -> Proportion:
    """The mean share over questions, for questions like these. `trials` is the number of trials that a share comes from."""
    estimate, questions = from_units(shares), len(shares)
    share = min(max(estimate.mean, 0.0), 1.0)
    variance, most = share * (1 - share), float(questions * trials)
    if questions == 1:
        effective = most
    elif variance == 0:
        effective = float(questions)  # equal answers to a question may all come from that question
    else:
        effective = min(variance / estimate.error**2, most) if estimate.error > 0 else most
        # The variance of few questions is uncertain, as in a t-test.
        wider, narrower = (
            float(scipy.special.stdtrit(free, 1 - level / 2)) for free in (questions - 1, max(effective - 1, 1.0))
        )
        effective *= min(narrower / wider, 1.0) ** 2
        # But a share between 0 and 1 never varies more than one trial does.
        effective = max(effective, float(questions))
    return Proportion(share, *binomial_interval(share, effective, level), effective)


def sign_flip_p(differences: Sequence[float]) -> float:
    """The exact two-sided p-value of paired differences: the share of all signs with as large a sum.

    n pairs can give no less than 2 / 2^n. Above `MOST_FLIPPED` pairs that are not 0 it is given as 0.
    """
    values = np.asarray([value for value in differences if value], dtype=float)
    if not len(values):
        return 1.0
    if len(values) > MOST_FLIPPED:
        return 0.0
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(values))))
    return float((np.abs(signs @ values) >= abs(values.sum()) - 1e-12).mean())


def largest_unseen_share(trials: int, level: float = 0.05) -> float:
    """The largest share that may still be 0 of so many trials: about 3 / n."""
    return 1 - math.pow(level, 1 / trials)
