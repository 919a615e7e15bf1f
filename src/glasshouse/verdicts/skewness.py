"""The skewness-adjusted t-test of a mean. Knows nothing about arms, margins or verdicts.

A t statistic is divided by a factor above 1, the stretch, if the sample is skewed in the direction that makes such
statistics too frequent:

    stretch = exp(strength k max(skewness - IGNORED, 0))        k = min(FIRST_ORDER (1 + FEW / n) / sqrt(n), LARGEST)

The statistic is then compared with its own distribution for normal values, a mean over the skewness of normal samples
(`upper_tail`). Strength 0 is the t-test. docs/verdicts.md explains it, docs/log.md has the methods that were rejected.
"""

from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
# The first-order term of the critical value of t is (1 + 2 z^2) / (6 z) times skewness / sqrt(n); 0.74 is its value at
# z = 1.96. (P. Hall, On the removal of skewness by transformation, 1992.)
FIRST_ORDER = 0.74
# The skewness of few values is far below that of their distribution; (1 + FEW / n) makes up for a part of it.
FEW = 10.0
# Four values say little about skewness. A larger factor would cost more power than it prevents errors.
LARGEST = 0.6
# Smaller values of the skewness are ignored, so that heavy but even tails keep the promise.
IGNORED = 0.15
# With several looks, errors at few seeds add up, and a lost decision is only late. So the adjustment is stronger.
ONE_LOOK, SEVERAL_LOOKS = 1.0, 2.0
# The skewness of normal samples is represented by this many quantiles of its absolute value.
NODES = 32
# Below this sample size there is no good approximation of these quantiles, so normal samples are simulated.
SIMULATED_BELOW = 8
SIMULATED_SAMPLES = 50_000
SEED = 20_240_229
# Larger arrays of statistics are looked up in a table.
DIRECT = 256
# The statistics of the table: dense where p-values matter, then as far as two seeds can lead.
TABLE = np.sinh(np.concatenate([np.arange(0.0, 6.0, 0.0025), np.arange(6.0, 40.0, 0.05)]))


def sample_skewness(values: ArrayLike) -> Array:
    """The skewness over the last axis, third moment / second moment^(3/2); 0 if all values are equal."""
    values = np.asarray(values, dtype=float)
    constant = np.all(values == values[..., :1], axis=-1)
    # Scaled by the largest value: cubes overflow sooner than squares.
    scaled = values / np.maximum(np.abs(values).max(axis=-1, keepdims=True), np.finfo(float).tiny)
    centred = scaled - scaled.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=-1))
    standardised = centred / np.where(constant | (deviation == 0), np.inf, deviation)[..., None]
    return (standardised * standardised * standardised).mean(axis=-1)


def stretch(skewness: ArrayLike, degrees: ArrayLike, strength: float = ONE_LOOK) -> Array:
    """The factor by which t statistics below 0 are divided. For statistics above 0, negate the skewness.

    The sample size n is `degrees` + 1. It need not be whole if the degrees of freedom are an approximation.
    """
    size = np.asarray(degrees, dtype=float) + 1
    rate = strength * np.minimum(FIRST_ORDER * (1 + FEW / size) / np.sqrt(size), LARGEST)
    return np.exp(rate * np.maximum(np.asarray(skewness, dtype=float) - IGNORED, 0.0))


def p_two_sided(statistic: ArrayLike, skewness: ArrayLike, degrees: ArrayLike, strength: float = ONE_LOOK) -> Array:
    """The p-value against the null hypothesis that the true mean is a threshold.

    `statistic` is (mean - threshold) / standard error.
    """
    statistic = np.asarray(statistic, dtype=float)
    unfavourable = -np.sign(statistic) * np.asarray(skewness, dtype=float)
    return 2.0 * upper_tail(np.abs(statistic) / stretch(unfavourable, degrees, strength), degrees, strength)


def p_above(statistic: ArrayLike, skewness: ArrayLike, degrees: ArrayLike, strength: float = ONE_LOOK) -> Array:
    """The one-sided p-value against the null hypothesis that the true mean is not above a threshold."""
    half = p_two_sided(statistic, skewness, degrees, strength) / 2
    return np.where(np.asarray(statistic) < 0, 1.0 - half, half)


def interval_widths(level: float, skewness: ArrayLike, degrees: float, strength: float = ONE_LOOK) -> tuple[Array, Array]:
    """How far the confidence interval with coverage 1 - `level` reaches below and above the mean, in standard errors."""
    quantile, skewness = upper_quantile(level / 2, float(degrees), strength), np.asarray(skewness, dtype=float)
    return quantile * stretch(-skewness, degrees, strength), quantile * stretch(skewness, degrees, strength)


def upper_tail(statistic: ArrayLike, degrees: ArrayLike, strength: float = ONE_LOOK) -> Array:
    """The probability that an adjusted statistic of normal values is larger. `statistic` is not negative."""
    statistic, freedom = np.asarray(statistic, dtype=float), np.asarray(degrees, dtype=float)
    if strength == 0 or freedom.ndim or statistic.size <= DIRECT:
        return _direct_tail(statistic, freedom, strength)
    logarithms = np.interp(statistic, TABLE, _log_tails(float(freedom), strength))
    return np.where(np.isinf(statistic), 0.0, np.exp(logarithms))


@lru_cache(maxsize=1024)
def upper_quantile(level: float, degrees: float, strength: float = ONE_LOOK) -> Array:
    """The inverse of `upper_tail`, by bisection. `level` is at most 1/2."""
    freedom = np.asarray(degrees, dtype=float)
    # Stretching makes statistics smaller, so Student's t bounds the quantile from above.
    low, high = np.zeros(freedom.shape), -np.asarray(scipy.special.stdtrit(freedom, level), dtype=float)
    for _ in range(60 if strength else 0):
        middle = (low + high) / 2
        larger = _direct_tail(middle, freedom, strength) > level
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    return high


def quantiles_at(normal_quantiles: Array, degrees: float, strength: float) -> Array:
    """The quantiles of the adjusted statistic at the levels of these normal quantiles; fast for thousands of them."""
    levels = np.asarray(scipy.special.log_ndtr(-normal_quantiles), dtype=float)
    return np.interp(-levels, -_log_tails(degrees, strength), TABLE)


def normal_skewness(size: int, generator: np.random.Generator, draws: int) -> Array:
    """Random draws of the skewness of normal samples."""
    if size < 3:
        return np.zeros(draws)
    if size < SIMULATED_BELOW:
        return sample_skewness(generator.standard_normal((draws, size)))
    return _approximate_skewness(size, generator.standard_normal(draws))


def null_stretches(degrees: ArrayLike, strength: float) -> Array:
    """The stretches of normal samples that are skewed in the unfavourable direction: `NODES` of them, equally likely.

    The other half of normal samples has stretch 1. A leading axis of `degrees` is kept.
    """
    degrees = np.asarray(degrees, dtype=float)
    if not degrees.ndim:
        return _cached_stretches(float(degrees), strength)
    skewness = _skewness_quantiles(degrees + 1)
    return stretch(skewness, degrees[..., None], strength)


@lru_cache(maxsize=1024)
def _cached_stretches(degrees: float, strength: float) -> Array:
    return stretch(_skewness_quantiles(np.array(degrees + 1)), degrees, strength)


def _direct_tail(statistic: Array, degrees: Array, strength: float) -> Array:
    unstretched = np.asarray(scipy.special.stdtr(degrees, -statistic), dtype=float)
    if strength == 0:
        return unstretched
    stretched = scipy.special.stdtr(degrees[..., None], -statistic[..., None] * null_stretches(degrees, strength))
    # As `mean`, which costs more than the sum of so few numbers.
    return (unstretched + np.add.reduce(stretched, axis=-1) / NODES) / 2


@lru_cache(maxsize=128)
def _log_tails(degrees: float, strength: float) -> Array:
    return np.log(np.maximum(_direct_tail(TABLE, np.asarray(degrees), strength), 1e-300))


def _skewness_quantiles(size: Array) -> Array:
    """Quantiles of the absolute skewness of normal samples, in a new last axis."""
    probabilities = (np.arange(NODES) + 0.5) / NODES
    large = _approximate_skewness(np.maximum(size, SIMULATED_BELOW)[..., None], scipy.special.ndtri((1 + probabilities) / 2))
    small = _simulated_quantiles()[np.clip(np.rint(size), 2, SIMULATED_BELOW - 1).astype(int) - 2]
    return np.where(size[..., None] < SIMULATED_BELOW - 0.5, small, large)


@lru_cache(maxsize=1)
def _simulated_quantiles() -> Array:
    """A row for each sample size from 2 to `SIMULATED_BELOW` - 1."""
    generator = np.random.default_rng(SEED)
    probabilities = (np.arange(NODES) + 0.5) / NODES
    rows = [np.abs(normal_skewness(size, generator, SIMULATED_SAMPLES)) for size in range(2, SIMULATED_BELOW)]
    return np.array([np.quantile(row, probabilities) for row in rows])


def _approximate_skewness(size: ArrayLike, normal: ArrayLike) -> Array:
    """The skewness of a normal sample from a standard normal deviate (D'Agostino 1970, from 8 values)."""
    n = np.asarray(size, dtype=float)
    kurtosis = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    square = np.sqrt(2 * (kurtosis - 1)) - 1
    scale = np.sqrt(2 / (square - 1)) * np.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return scale * np.sinh(np.asarray(normal) * np.sqrt(np.log(square) / 2))
