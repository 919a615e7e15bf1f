"""Sequential testing: p-values and levels that stay valid when a study is tested at several looks and may stop at each.

For normal values without an effect, the test statistics of all looks have one joint distribution, whatever the scale of the
metric, so it can be simulated. The statistic is that of the tests: adjusted for skewness, with the strength for several
looks. docs/verdicts.md explains the method.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from glasshouse.verdicts import skewness

Array = NDArray[np.float64]
Looks = tuple[int, ...]
Sums = tuple[Array, Array, Array]  # a mean, and the sums of squares and cubes of the deviations from it
# The level at a look grows with this power of its number of seeds. 0 spends most of alpha on early looks, as Pocock does;
# larger values spend more on late looks, as O'Brien and Fleming do. Few seeds are where skewed differences mislead most.
SHAPE = 1.0
DRAWS = 1_600_000
SEED = 20_240_229


@dataclass(frozen=True)
class Look:
    """The look at `seeds` seeds, in a study with these looks."""

    looks: Looks
    seeds: int

    @classmethod
    def at(cls, planned: Looks, seeds: int) -> "Look":
        """A look that is added to the planned ones, if it is not among them; without a plan it is the only one."""
        return cls(tuple(sorted({*planned, seeds})), seeds)

    @property
    def strength(self) -> float:
        return skewness.SEVERAL_LOOKS if len(self.looks) > 1 else skewness.ONE_LOOK

    def corrected(self, p: float, two_sided: bool = True) -> float:
        return float(sequential_p(p, self.looks, self.seeds, two_sided))

    def level(self, level: float, seeds: int | None = None, two_sided: bool = True) -> float:
        """The level of the test at this look, or at so many seeds, that gives `level` over all looks."""
        return nominal_level(level, self.looks, seeds or self.seeds, two_sided)


def sequential_p(
    p: ArrayLike, looks: Looks, seeds: int, two_sided: bool = True, strength: float = skewness.SEVERAL_LOOKS
) -> Array:
    """The probability, under the null hypothesis, of a p-value as extreme at any look. `p` is from the look at `seeds`.

    `strength` is that of the adjustment for skewness in the test that gave `p`. The result is conservative: the smaller of
    an upper confidence bound of the simulated probability and the sum over the looks (Bonferroni).
    """
    if len(looks) == 1:
        return np.asarray(p, dtype=float)
    score = np.asarray(p, dtype=float) * (looks[-1] / seeds) ** SHAPE
    smallest = _smallest_scores(looks, two_sided, strength)
    count = np.searchsorted(smallest, score, side="right")
    simulated = (count + 2 + 2 * np.sqrt(count + 1)) / len(smallest)
    bonferroni = score * sum((look / looks[-1]) ** SHAPE for look in looks)
    return np.minimum(np.minimum(simulated, bonferroni), 1.0)


def nominal_level(
    level: float, looks: Looks, seeds: int, two_sided: bool = True, strength: float = skewness.SEVERAL_LOOKS
) -> float:
    """The level of the test at `seeds` seeds that gives `level` over all looks. `seeds` need not be one of the looks."""
    return _last_level(level, looks, two_sided, strength) * min(seeds / looks[-1], 1.0) ** SHAPE if len(looks) > 1 else level


@lru_cache(maxsize=256)
def _last_level(level: float, looks: Looks, two_sided: bool, strength: float) -> float:
    """The nominal level of the last look, by bisection."""
    low, high = 0.0, level
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if sequential_p(middle, looks, looks[-1], two_sided, strength) <= level else (low, middle)
    return low


@lru_cache(maxsize=32)
def _smallest_scores(looks: Looks, two_sided: bool, strength: float) -> Array:
    """The smallest score over the looks in each simulated study without an effect, sorted."""
    first, second = _null_paths(looks, strength)
    return np.sort(np.minimum(first, second) * 2 if two_sided else np.concatenate([first, second]))


@lru_cache(maxsize=8)
def _null_paths(looks: Looks, strength: float) -> tuple[Array, Array]:
    """The smallest one-sided score over the looks in simulated studies without an effect, for both directions.

    A score is a p-value divided by the relative level of its look. The statistic needs only the sums of the first three
    powers of the seeds, so the simulation draws these for the seeds between two looks.
    """
    generator = np.random.default_rng(SEED)
    paths = max(DRAWS // len(looks), 20_000)
    sums: Sums = (np.zeros(paths), np.zeros(paths), np.zeros(paths))
    best = np.ones((2, paths))
    for before, look in zip((0, *looks), looks, strict=False):
        sums = _joined(sums, before, _drawn_sums(generator, paths, look - before), look - before)
        mean, square, cube = sums
        statistic = mean / np.sqrt(square / (look - 1) / look)
        above = skewness.p_above(statistic, cube / look / (square / look) ** 1.5, look - 1, strength)
        weight = (looks[-1] / look) ** SHAPE
        np.minimum(best[0], above * weight, out=best[0])
        np.minimum(best[1], (1 - above) * weight, out=best[1])
    return best[0], best[1]


def _drawn_sums(generator: np.random.Generator, paths: int, count: int) -> Sums:
    """The sums of normal samples: mean, variance and skewness are independent of each other."""
    mean = generator.standard_normal(paths) / np.sqrt(count)
    if count == 1:
        return mean, np.zeros(paths), np.zeros(paths)
    square = generator.chisquare(count - 1, paths)
    return mean, square, skewness.normal_skewness(count, generator, paths) * square**1.5 / np.sqrt(count)


def _joined(left: Sums, left_count: int, right: Sums, right_count: int) -> Sums:
    total, step = left_count + right_count, right[0] - left[0]
    if not left_count:
        return right
    square = left[1] + right[1] + step**2 * left_count * right_count / total
    third = step**3 * left_count * right_count * (left_count - right_count) / total**2
    mixed = 3 * step * (left_count * right[1] - right_count * left[1]) / total
    return left[0] + step * right_count / total, square, left[2] + right[2] + third + mixed
