"""Tests of paired differences, their corrections and their power. Knows nothing of arms, seeds by name, or verdicts.

Axes: the last one is the seeds where a function takes values, and the arms of a study where it corrects p-values; leading
ones are studies, so that a simulation runs the very functions that judge a real one. docs/verdicts.md has the reasons.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]
POWER = 0.8
# Beyond so many seeds nobody would settle a question by adding more.
MOST_SEEDS = 10_000
# Where p-values of the equivalence test are looked for, as normal deviates: from a half down to 1e-16.
DEVIATES = np.linspace(0.0, 8.2, 2051)


def moments(values: ArrayLike) -> tuple[Array, Array]:
    """Mean and standard deviation over the seeds; the deviation of equal values is exactly 0, whatever rounding does."""
    values = np.asarray(values, dtype=float)
    first = values[..., 0]
    constant = np.all(values == values[..., :1], axis=-1)
    # In units of the largest value, for the squares of a perplexity that almost diverged are beyond all floats.
    unit = np.maximum(np.abs(values).max(axis=-1), np.finfo(float).tiny)
    inner = values / unit[..., None]
    return np.where(constant, first, inner.mean(axis=-1) * unit), np.where(constant, 0.0, inner.std(axis=-1, ddof=1) * unit)


def half_width(deviation: ArrayLike, count: int, level: float) -> Array:
    """Half the width of the interval of a mean that fails to cover with a chance of `level` (Student's t)."""
    return -special.stdtrit(count - 1, level / 2) * np.asarray(deviation) / np.sqrt(count)


def difference_p(mean: ArrayLike, deviation: ArrayLike, pairs: int) -> Array:
    """The two-sided p-value of the paired t-test; where nothing varies, 1 for no difference at all and 0 for any."""
    statistic = _ratio(np.abs(mean), np.asarray(deviation) / np.sqrt(pairs))
    return 2.0 * special.stdtr(pairs - 1, -statistic)


def effect(mean: float, deviation: float, pairs: int) -> float:
    """The mean in units of the deviation, with Hedges' correction for few pairs; with two pairs there is none (NaN)."""
    freedom = pairs - 1
    if freedom < 2:
        return float("nan")
    return float(_ratio(abs(mean), deviation)) * float(np.sign(mean)) * (1 - 3 / (4 * freedom - 1))


def spread(values: ArrayLike) -> tuple[Array, Array, Array]:
    """The deviation between seeds, how well it is known in degrees of freedom, and each seed's pull on its logarithm.

    Under normal seeds the deviation has n - 1 degrees. Heavy tails make it less certain than that, so its logarithm is
    estimated again with each seed left out in turn, and the degrees that the scatter of these amounts to are taken where
    they are fewer: the variance of the logarithm is 1 / (2 degrees).
    """
    values = np.asarray(values, dtype=float)
    count = values.shape[-1]
    mean, deviation = moments(values)
    if count < 3:
        return deviation, np.full(deviation.shape, count - 1.0), np.zeros(values.shape)
    square = ((values - mean[..., None]) / np.where(deviation > 0, deviation, 1.0)[..., None]) ** 2
    # What is left of the sum of squares without one seed; rounding must not make it negative.
    left = square.sum(axis=-1, keepdims=True) - square * count / (count - 1)
    tiny = np.finfo(float).tiny
    logarithms = np.log(np.maximum(left / (count - 2), tiny)) / 2
    pull = logarithms.mean(axis=-1, keepdims=True) - logarithms
    variance = (count - 1) / count * (pull**2).sum(axis=-1)
    return deviation, np.minimum(count - 1.0, 1 / (2 * np.maximum(variance, tiny))), pull


def correlation(left: ArrayLike, right: ArrayLike) -> Array:
    """Pearson's correlation over the seeds; 0 where one side does not vary."""
    return (_standardised(left) * _standardised(right)).mean(axis=-1)


def _standardised(values: ArrayLike) -> Array:
    mean, deviation = moments(values)
    count = np.shape(values)[-1]
    centred = np.asarray(values, dtype=float) - mean[..., None]
    return centred / (np.where(deviation > 0, deviation, np.inf) * np.sqrt((count - 1) / count))[..., None]


def equivalence_p(
    mean: ArrayLike,
    deviation: ArrayLike,
    pairs: int,
    margin: ArrayLike,
    degrees: ArrayLike | None = None,
    together: ArrayLike = 0.0,
) -> Array:
    """The p-value of two one-sided tests that the true difference is smaller than the margin either way.

    A margin that was itself estimated has `degrees` of freedom, and an error correlated with that of the mean difference
    (`together`). The gap between the margin and the difference must then exceed the root of the squares of both errors, and
    of their product where they conspire. Level by level, so p is found by halving. Given margins have no error: Student's t.
    """
    mean, margin = np.asarray(mean, dtype=float), np.asarray(margin, dtype=float)
    error = np.asarray(deviation) / np.sqrt(pairs)
    gap = margin - np.abs(mean)
    if degrees is None:
        return special.stdtr(pairs - 1, -_ratio(gap, error))
    unit = np.where(margin > 0, margin, 1.0)
    scaled_gap, scaled_error, degrees = gap / unit, error / unit, np.asarray(degrees, dtype=float)
    against = np.maximum(-np.asarray(together) * np.sign(mean), 0.0)
    quantiles = _t_quantiles(pairs - 1)
    low, high = np.zeros(gap.shape), np.full(gap.shape, DEVIATES[-1])
    for _ in range(26):
        middle = (low + high) / 2
        of_mean = np.interp(middle, DEVIATES, quantiles) * scaled_error
        of_margin = 1 - lower_bound(degrees, middle)
        enough = scaled_gap >= np.sqrt(of_mean**2 + of_margin**2 + 2 * against * of_mean * of_margin)
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    # No gap at all is no evidence at all, except between arms that are equal in every seed and vary in none.
    p = np.where(gap > 0, special.ndtr(-low), 1.0)
    return np.where((error == 0) & (mean == 0), 0.0, p)


def lower_bound(degrees: ArrayLike, deviate: ArrayLike) -> Array:
    """A lower confidence bound of a standard deviation, as a share of its estimate; chi-squared by Wilson and Hilferty."""
    variance = 2 / (9 * np.asarray(degrees))
    root = np.maximum(1 - variance + np.asarray(deviate) * np.sqrt(variance), 1e-3)
    return np.minimum(1 / (root * np.sqrt(root)), 1.0)


@lru_cache(maxsize=64)
def _t_quantiles(freedom: int) -> Array:
    return -special.stdtrit(freedom, special.ndtr(-DEVIATES))


def _ratio(left: ArrayLike, right: ArrayLike) -> Array:
    """left / right; 0 / 0 is 0, and anything else / 0 infinite."""
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.where((left == 0) & (right == 0), 0.0, left / right)


def holm(p: ArrayLike) -> Array:
    """Holm's correction over the last axis: p-values that keep the chance of any false rejection."""
    p = np.asarray(p, dtype=float)
    order = np.argsort(p, axis=-1)
    raised = np.take_along_axis(p, order, axis=-1) * np.arange(p.shape[-1], 0, -1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(raised, axis=-1), 1.0), axis=-1)
    return adjusted


def corrected(difference: ArrayLike, equivalence: ArrayLike) -> tuple[Array, Array]:
    """Holm's correction of both questions of every arm at once, so that any false verdict in a study has chance alpha.

    An arm's two null hypotheses (no difference; a difference past the margin) exclude each other, so at most one per arm is
    true: each p-value is corrected beside the larger one of every other arm. An arm counts until both are rejected.
    """
    difference, equivalence = np.asarray(difference, dtype=float), np.asarray(equivalence, dtype=float)
    larger = np.maximum(difference, equivalence)
    results = []
    for own in (difference, equivalence):
        adjusted = np.empty_like(own)
        for arm in range(own.shape[-1]):
            beside = larger.copy()
            beside[..., arm] = own[..., arm]
            adjusted[..., arm] = holm(beside)[..., arm]
        results.append(adjusted)
    return results[0], results[1]


def difference_power(standardised: float, pairs: int, level: float) -> float:
    """The chance that the paired t-test at this level finds a true difference of so many deviations.

    This is the noncentral t distribution, as the mean over what the deviation may be estimated at. scipy's own gives NaN,
    or does not come back, for two or three pairs at small levels.
    """
    shift = abs(standardised) * float(np.sqrt(pairs))
    scales, weights = _estimates(pairs - 1)
    critical = -special.stdtrit(pairs - 1, level / 2) * scales
    return float(weights @ (special.ndtr(shift - critical) + special.ndtr(-shift - critical)))


@lru_cache(maxsize=256)
def _estimates(freedom: int, places: int = 256) -> tuple[Array, Array]:
    """Estimated over true deviation at Gauss and Legendre's places on the scale of probability, and their weights."""
    where, weights = _legendre(places)
    return np.sqrt(special.chdtri(freedom, (1 - where) / 2) / freedom), weights / 2


@lru_cache(maxsize=4)
def _legendre(places: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(places)


def equivalence_power(
    mean: float, deviation: float, pairs: int, margin: float, level: float, estimated: bool = False
) -> float:
    """The chance that the equivalence test at this level succeeds; about that where the margin is estimated.

    The mean over what both deviations may be estimated at, as if these were independent, and the correlation of errors at
    what chance alone makes of it.
    """
    freedom = pairs - 1
    shift, error = abs(mean) / margin, deviation / margin / float(np.sqrt(pairs))
    scales, weights = _estimates(freedom, 64)
    width, margins = -special.stdtrit(freedom, level) * error * scales, np.ones((1, 1))
    if estimated:
        by_chance = float(np.sqrt(1 / (2 * np.pi * freedom)))
        margins = scales[:, None]
        of_margin = margins * (1 - lower_bound(freedom, -special.ndtri(level)))
        width = np.sqrt(width**2 + of_margin**2 + 2 * by_chance * width * of_margin)
    inside = margins - width
    within = special.ndtr((inside - shift) / error) - special.ndtr(-(inside + shift) / error)
    found = np.where(inside > 0, within, 0.0) @ weights
    return float(weights @ found if estimated else found[0])


def smallest_found(deviation: float, pairs: int, level: float) -> float:
    """The smallest true difference that the paired t-test at this level finds with a power of 80 %."""
    # The estimated deviation is seldom above 1.3 times the true one: twice the critical value is always enough.
    low, high = 0.0, 2 * float(2 - special.stdtrit(pairs - 1, level / 2)) / float(np.sqrt(pairs))
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if difference_power(middle, pairs, level) >= POWER else (middle, high)
    return high * deviation


def seeds_needed(power_at: Callable[[int], float], more_than: int, most: int = MOST_SEEDS) -> int | None:
    """The smallest number of seeds above `more_than` at which a power that grows with them is 80 %; None past `most`."""
    low, high = more_than, more_than + 1
    while high <= most and power_at(high) < POWER:
        low, high = high, 2 * high
    high = min(high, most)
    if high <= low or power_at(high) < POWER:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= POWER else (middle, high)
    return high
