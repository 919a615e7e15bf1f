"""Sequential testing: p-values and levels that stay valid when a study is tested at several looks and may stop at each.

A study that is tested after 4, 8, 12, ... seeds and stops at the first significant result has a false positive rate far
above alpha. Without an effect, the t statistics of all looks have one joint distribution, which does not depend on the scale
of the metric, so it can be simulated. From the simulation follow `sequential_p`, the probability under the null hypothesis
of a p-value as extreme at any look, and `nominal_level`, the level at each look that keeps a level over all looks.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]
Looks = tuple[int, ...]
# The level at a look grows with this power of its number of seeds. 0 spends most of alpha on early looks, as Pocock does;
# larger values spend more on late looks, as O'Brien and Fleming do.
SHAPE = 0.5
DRAWS = 1_600_000
SEED = 20_240_229


def add_look(looks: Looks, seeds: int) -> Looks:
    """The planned looks with a look at this number of seeds, if it is not among them."""
    return tuple(sorted({*looks, seeds}))


def sequential_p(p: ArrayLike, looks: Looks, seeds: int, two_sided: bool = True) -> Array:
    """The probability, under the null hypothesis, of a p-value as extreme at any look. `p` is from the look at `seeds`.

    It is conservative: the smaller of an upper confidence bound of the simulated probability and the sum over the looks
    (Bonferroni).
    """
    if len(looks) == 1:
        return np.asarray(p, dtype=float)
    score = np.asarray(p, dtype=float) * (looks[-1] / seeds) ** SHAPE
    smallest = _smallest_scores(looks, two_sided)
    count = np.searchsorted(smallest, score, side="right")
    simulated = (count + 2 + 2 * np.sqrt(count + 1)) / len(smallest)
    bonferroni = score * sum((look / looks[-1]) ** SHAPE for look in looks)
    return np.minimum(np.minimum(simulated, bonferroni), 1.0)


def nominal_level(level: float, looks: Looks, seeds: int, two_sided: bool = True) -> float:
    """The level of the test at `seeds` seeds that gives `level` over all looks. `seeds` need not be one of the looks."""
    return _last_level(level, looks, two_sided) * min(seeds / looks[-1], 1.0) ** SHAPE if len(looks) > 1 else level


@lru_cache(maxsize=256)
def _last_level(level: float, looks: Looks, two_sided: bool) -> float:
    """The nominal level of the last look, by bisection."""
    low, high = 0.0, level
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if sequential_p(middle, looks, looks[-1], two_sided) <= level else (low, middle)
    return low


@lru_cache(maxsize=32)
def _smallest_scores(looks: Looks, two_sided: bool) -> Array:
    """The smallest score over the looks in each simulated study without an effect, sorted."""
    first, second = _null_paths(looks)
    return np.sort(np.minimum(first, second) * 2 if two_sided else np.concatenate([first, second]))


@lru_cache(maxsize=8)
def _null_paths(looks: Looks) -> tuple[Array, Array]:
    """The smallest one-sided score over the looks in simulated studies without an effect, for both directions.

    A score is a p-value divided by the relative level of its look. The t statistic needs only the sum and the sum of squares
    of the seeds, so the simulation draws these for the seeds between two looks.
    """
    generator = np.random.default_rng(SEED)
    paths = max(DRAWS // len(looks), 20_000)
    total, square = np.zeros(paths), np.zeros(paths)
    best = np.ones((2, paths))
    for before, look in zip((0, *looks), looks, strict=False):
        block = look - before
        block_sum = generator.standard_normal(paths) * np.sqrt(block)
        total += block_sum
        square += block_sum**2 / block
        if block > 1:
            square += generator.chisquare(block - 1, paths)
        statistic = total / np.sqrt((square - total**2 / look) / (look - 1) * look)
        tail = _t_tail(np.abs(statistic), look - 1)
        weight = (looks[-1] / look) ** SHAPE
        np.minimum(best[0], np.where(statistic > 0, tail, 1 - tail) * weight, out=best[0])
        np.minimum(best[1], np.where(statistic > 0, 1 - tail, tail) * weight, out=best[1])
    return best[0], best[1]


def _t_tail(statistic: Array, degrees: int) -> Array:
    """The upper tail of Student's t, by interpolating its logarithm in a fine table: faster than scipy, accurate to 1e-5."""
    nodes = np.sinh(np.linspace(0.0, 8.0, 4001))
    logarithms = np.log(np.maximum(special.stdtr(degrees, -nodes), 1e-300))
    return np.exp(np.interp(statistic, nodes, logarithms))
