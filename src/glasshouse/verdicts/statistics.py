"""Paired tests, the Holm correction, and power. Knows nothing about arms by name, runs or verdicts.

The last axis is the seeds for functions of values, and the arms of a study for functions of p-values. Leading axes are
studies: a simulation of many studies calls the same functions that judge a real one. docs/verdicts.md explains the method.
`strength` is that of the adjustment for skewness (verdicts/skewness.py); 0 is the plain t-test.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from glasshouse.verdicts import skewness
from glasshouse.verdicts.skewness import ONE_LOOK

Array = NDArray[np.float64]
# The search range for p-values of the equivalence test, as normal quantiles: from p = 1/2 down to about 1e-16.
NORMAL_QUANTILES = np.linspace(0.0, 8.2, 2051)
FEWEST_DEGREES = 0.5
POWER = 0.8
# The search for a sufficient number of seeds stops here.
MAX_SEEDS = 10_000
# The outcomes of the two tests of a difference. If it is different, the sign of the mean is the direction.
DIFFERENT, EQUIVALENT, UNDECIDED = 1, 2, 0


def moments(values: ArrayLike) -> tuple[Array, Array]:
    """Mean and standard deviation over the seeds. The standard deviation of equal values is exactly 0."""
    values = np.asarray(values, dtype=float)
    first = values[..., 0]
    constant = np.all(values == values[..., :1], axis=-1)
    # Scaled by the largest value: the squares of a perplexity that almost diverged would overflow.
    unit = np.maximum(np.abs(values).max(axis=-1), np.finfo(float).tiny)
    scaled = values / unit[..., None]
    mean, deviation = scaled.mean(axis=-1) * unit, scaled.std(axis=-1, ddof=1) * unit
    return np.where(constant, first, mean), np.where(constant, 0.0, deviation)


def difference_p(
    mean: ArrayLike, deviation: ArrayLike, pairs: int, skew: ArrayLike | None = None, strength: float = ONE_LOOK
) -> Array:
    """The two-sided p-value of the paired test. With standard deviation 0 it is 1 if the mean is 0, else 0."""
    skew, strength = _adjustment(skew, strength)
    return skewness.p_two_sided(_ratio(mean, np.asarray(deviation) / np.sqrt(pairs)), skew, pairs - 1, strength)


def effect_size(mean: float, deviation: float, pairs: int) -> float:
    """Cohen's d_z, mean / standard deviation, with Hedges' correction for small samples. NaN for fewer than three pairs."""
    degrees = pairs - 1
    if degrees < 2:
        return float("nan")
    return float(_ratio(abs(mean), deviation)) * float(np.sign(mean)) * (1 - 3 / (4 * degrees - 1))


def jackknife_deviation(values: ArrayLike) -> tuple[Array, Array, Array]:
    """The standard deviation over the seeds, its effective degrees of freedom, and the influence of each seed on its log.

    The degrees are n - 1, or fewer if leaving out each seed in turn (the jackknife) gives log deviations with a larger
    variance, which is 1 / (2 degrees).
    """
    values = np.asarray(values, dtype=float)
    count = values.shape[-1]
    mean, deviation = moments(values)
    if count < 3:
        return deviation, np.full(deviation.shape, count - 1.0), np.zeros(values.shape)
    square = ((values - mean[..., None]) / np.where(deviation > 0, deviation, 1.0)[..., None]) ** 2
    # The sum of squares without each seed. Rounding can make it negative, so it is bounded below.
    left_out = square.sum(axis=-1, keepdims=True) - square * count / (count - 1)
    tiny = np.finfo(float).tiny
    log_deviations = np.log(np.maximum(left_out / (count - 2), tiny)) / 2
    influence = log_deviations.mean(axis=-1, keepdims=True) - log_deviations
    variance = (count - 1) / count * (influence**2).sum(axis=-1)
    return deviation, np.minimum(count - 1.0, 1 / (2 * np.maximum(variance, tiny))), influence


def correlation(left: ArrayLike, right: ArrayLike) -> Array:
    """Pearson's correlation over the seeds; 0 if one side is constant."""
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
    margin_degrees: ArrayLike | None = None,
    error_correlation: ArrayLike = 0.0,
    skew: ArrayLike | None = None,
    strength: float = ONE_LOOK,
) -> Array:
    """The p-value of the equivalence test (TOST): the true difference is smaller than the margin in both directions.

    An estimated margin has an error of its own, with `margin_degrees` degrees of freedom and a correlation with the error of
    the mean difference. The p-value is then the smallest level at which gap >= sqrt(a^2 + b^2 + 2 r a b) in both directions.
    """
    mean, margin = np.asarray(mean, dtype=float), np.asarray(margin, dtype=float)
    error, degrees = np.asarray(deviation) / np.sqrt(pairs), pairs - 1
    skew, strength = _adjustment(skew, strength)
    if margin_degrees is None:
        below = skewness.p_above(_ratio(margin - mean, error), -skew, degrees, strength)
        above = skewness.p_above(_ratio(margin + mean, error), skew, degrees, strength)
        return np.maximum(below, above)
    unit = np.where(margin > 0, margin, 1.0)
    freedom, correlated = np.asarray(margin_degrees, dtype=float), np.asarray(error_correlation, dtype=float)
    quantiles = skewness.quantiles_at(NORMAL_QUANTILES, float(degrees), strength)
    sides = [
        (
            (margin - side * mean) / unit,
            error / unit * skewness.stretch(side * skew, degrees, strength),
            np.maximum(-side * correlated, 0.0),
        )
        for side in (1.0, -1.0)
    ]
    low = np.zeros(np.broadcast_shapes(margin.shape, mean.shape, correlated.shape))
    high = np.full(low.shape, NORMAL_QUANTILES[-1])
    for _ in range(26):
        middle = (low + high) / 2
        quantile, b = np.interp(middle, NORMAL_QUANTILES, quantiles), 1 - deviation_lower_bound(freedom, middle)
        enough = np.ones(low.shape, dtype=bool)
        for gap, scaled_error, r in sides:
            a = quantile * scaled_error
            enough &= gap >= np.sqrt(a**2 + b**2 + 2 * r * a * b)
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    # Without a gap there is no evidence. The exception are arms that are equal in every seed.
    p = np.where((sides[0][0] > 0) & (sides[1][0] > 0), scipy.special.ndtr(-low), 1.0)
    return np.where((error == 0) & (mean == 0), 0.0, p)


def _adjustment(skew: ArrayLike | None, strength: float) -> tuple[Array, float]:
    """Without a skewness the test is the plain t-test."""
    return (np.zeros(()), 0.0) if skew is None else (np.asarray(skew, dtype=float), strength)


def deviation_lower_bound(degrees: ArrayLike, quantile: ArrayLike) -> Array:
    """A lower confidence bound of a standard deviation, divided by its estimate.

    `quantile` is the normal quantile of the confidence. The chi-squared quantile is the Wilson-Hilferty approximation.
    With fewer than `FEWEST_DEGREES` the chi-squared distribution is nearly constant, and the bound would be no bound.
    """
    variance = 2 / (9 * np.maximum(degrees, FEWEST_DEGREES))
    root = np.maximum(1 - variance + np.asarray(quantile) * np.sqrt(variance), 1e-3)
    return np.minimum(1 / (root * np.sqrt(root)), 1.0)


def _ratio(numerator: ArrayLike, denominator: ArrayLike) -> Array:
    """The quotient, with 0 / 0 = 0 and x / 0 infinite."""
    numerator, denominator = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.where((numerator == 0) & (denominator == 0), 0.0, numerator / denominator)


def holm(p: ArrayLike) -> Array:
    """The Holm correction over the last axis: adjusted p-values that control the family-wise error rate."""
    p = np.asarray(p, dtype=float)
    order = np.argsort(p, axis=-1)
    multiplied = np.take_along_axis(p, order, axis=-1) * np.arange(p.shape[-1], 0, -1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(multiplied, axis=-1), 1.0), axis=-1)
    return adjusted


def holm_over_arms(difference: ArrayLike, equivalence: ArrayLike) -> tuple[Array, Array]:
    """The Holm correction of both tests of every arm, so that any false verdict in a study has probability at most alpha.

    At most one null hypothesis of an arm's two tests is true. So each p-value is corrected together with the larger p-value
    of every other arm (Shaffer's form of the procedure).
    """
    difference, equivalence = np.asarray(difference, dtype=float), np.asarray(equivalence, dtype=float)
    larger = np.maximum(difference, equivalence)
    results = []
    for p in (difference, equivalence):
        adjusted = np.empty_like(p)
        for arm in range(p.shape[-1]):
            family = larger.copy()
            family[..., arm] = p[..., arm]
            adjusted[..., arm] = holm(family)[..., arm]
        results.append(adjusted)
    return results[0], results[1]


def outcome(
    difference: ArrayLike, equivalence: ArrayLike, difference_alpha: float, equivalence_alpha: float
) -> NDArray[np.int_]:
    """`EQUIVALENT`, `DIFFERENT` or `UNDECIDED`, from the p-values of the two tests.

    Equivalence comes first: a difference that is shown to be smaller than the margin is too small to matter, even if its
    direction is certain.
    """
    decided = np.where(np.asarray(difference) <= difference_alpha, DIFFERENT, UNDECIDED)
    return np.where(np.asarray(equivalence) <= equivalence_alpha, EQUIVALENT, decided)


def one_seed_decides(
    differences: ArrayLike,
    margin: float | None = None,
    alpha: float | tuple[float, float] = 0.05,
    margin_degrees: float | None = None,
    influence: ArrayLike | None = None,
) -> int | None:
    """The index of the seed without which the verdict on the differences would be another one; None if there is none.

    `alpha` may differ between the difference test and the equivalence test. An estimated margin stays what it is;
    `influence` is that of each seed on its logarithm. If several seeds decide, it is the one that matters most.
    """
    values = np.asarray(differences, dtype=float)
    count = len(values)
    pulls = np.zeros(count) if influence is None else np.asarray(influence, dtype=float)
    if count < 3:
        return None
    kept = ~np.eye(count, dtype=bool)

    def p_values(sample: Array, pull: Array) -> Array:
        mean, deviation = moments(sample)
        moments_and_count, skew = (mean, deviation, sample.shape[-1]), skewness.sample_skewness(sample)
        equivalence = np.ones(mean.shape)
        if margin is not None and not np.isnan(margin):
            error_correlation = correlation(sample, pull)
            equivalence = equivalence_p(*moments_and_count, margin, margin_degrees, error_correlation, skew)
        return np.stack([difference_p(*moments_and_count, skew), equivalence])

    levels = np.broadcast_to(alpha, (2,))
    with_all = p_values(values, pulls)
    without = p_values(*(np.broadcast_to(each, (count, count))[kept].reshape(count, -1) for each in (values, pulls)))
    word = outcome(*with_all, *levels)
    changed = outcome(*without, *levels) != word
    if word == UNDECIDED or not changed.any():
        return None
    weakened = without[0 if word == DIFFERENT else 1]
    return int(np.argmax(np.where(changed, weakened, -1.0)))


def difference_power(effect: float, pairs: int, level: float, strength: float = ONE_LOOK) -> float:
    """The power of the paired test at this level if the true difference is `effect` standard deviations.

    This is the tail of a noncentral t distribution; scipy's may not terminate for two or three pairs at small levels. Half
    of all samples are skewed in the favourable direction. The others need the critical value times their stretch.
    """
    shift = abs(effect) * float(np.sqrt(pairs))
    scales, weights = _deviation_quadrature(pairs - 1)
    critical = _critical_values(level / 2, pairs - 1, strength)[:, None] * scales
    found = (scipy.special.ndtr(shift - critical) + scipy.special.ndtr(-shift - critical)) @ weights
    return float(found[0] + found[1:].mean()) / 2


@lru_cache(maxsize=1024)
def _critical_values(level: float, degrees: int, strength: float) -> Array:
    """The critical values of t: for half of all samples, and for equal shares of the others, which are stretched."""
    stretches = skewness.null_stretches(degrees, strength).reshape(8, -1).mean(axis=-1)
    return skewness.upper_quantile(level, degrees, strength) * np.concatenate([[1.0], stretches])


@lru_cache(maxsize=256)
def _deviation_quadrature(degrees: int, nodes: int = 256) -> tuple[Array, Array]:
    """Quadrature over the ratio of estimated to true standard deviation: nodes and weights.

    Gauss-Legendre nodes on the scale of probability, mapped by the chi-squared quantile function.
    """
    places, weights = _gauss_legendre(nodes)
    return np.sqrt(scipy.special.chdtri(degrees, (1 - places) / 2) / degrees), weights / 2


@lru_cache(maxsize=4)
def _gauss_legendre(nodes: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(nodes)


def equivalence_power(
    mean: float,
    deviation: float,
    pairs: int,
    margin: float,
    level: float,
    estimated: bool = False,
    strength: float = ONE_LOOK,
) -> float:
    """The power of the equivalence test at this level; approximate if the margin is estimated.

    The standard deviations of the differences and of the margin are taken as independent.
    """
    degrees = pairs - 1
    shift, error = abs(mean) / margin, deviation / margin / float(np.sqrt(pairs))
    scales, weights = _deviation_quadrature(degrees, 32)
    bound = _critical_values(level, degrees, strength)[:, None, None] * error * scales
    margins = np.ones((1, 1))
    if estimated:
        chance_correlation = float(np.sqrt(1 / (2 * np.pi * degrees)))
        margins = scales[:, None]
        margin_error = margins * (1 - deviation_lower_bound(degrees, -scipy.special.ndtri(level)))
        bound = np.sqrt(bound**2 + margin_error**2 + 2 * chance_correlation * bound * margin_error)
    # The largest observed difference at which the test succeeds. A stretch concerns one direction, either one equally often.
    largest, unstretched = (margins - bound)[1:], (margins - bound)[:1]
    powers = []
    for upper, lower in ((largest, unstretched), (unstretched, largest)):
        success = scipy.special.ndtr((upper - shift) / error) - scipy.special.ndtr(-(lower + shift) / error)
        powers.append(np.maximum(success, 0.0) @ weights)
    power = np.mean(powers, axis=(0, 1))
    return float(weights @ power if estimated else power[0])


def detectable_difference(deviation: float, pairs: int, level: float, strength: float = ONE_LOOK) -> float:
    """The smallest true difference that the paired test at this level detects with power `POWER`."""
    return _detectable_effect(pairs, level, strength) * deviation


@lru_cache(maxsize=1024)
def _detectable_effect(pairs: int, level: float, strength: float) -> float:
    """The same in standard deviations."""
    low, high = 0.0, 1.0
    while difference_power(high, pairs, level, strength) < POWER:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if difference_power(middle, pairs, level, strength) >= POWER else (middle, high)
    return high


def seeds_needed(power_at: Callable[[int], float], more_than: int, maximum: int = MAX_SEEDS) -> int | None:
    """The smallest number of seeds above `more_than` with power `POWER`, or None if it is beyond `maximum`.

    `power_at` gives the power for a number of seeds; it must increase with the number.
    """
    low, high = more_than, more_than + 1
    while high <= maximum and power_at(high) < POWER:
        low, high = high, 2 * high
    high = min(high, maximum)
    if high <= low or power_at(high) < POWER:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= POWER else (middle, high)
    return high
