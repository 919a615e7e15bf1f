"""A claim of mathematics: it is checked on random numbers, one draw per seed, and needs no training and no data.

What must hold is counted: a value is the number of entries at which it fails, so that it holds only if every value is 0.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from glasshouse.claims.claim import Bench, Claim, Measurements, Series

RANDOM_NUMBERS = "random numbers"
# Two results in float32 that differ by less are the same result, rounded in another order.
TOLERANCE = 1e-5


class RandomCheck(Claim):
    """A claim whose every draw of random numbers gives a value of each quantity."""

    data = RANDOM_NUMBERS
    looks = (64,)

    @abstractmethod
    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        """The values of one draw, by quantity."""

    def measure(self, bench: Bench) -> Measurements:
        return Measurements(series_of_draws(self.check, bench.first_seed, bench.seeds))


def series_of_draws(
    check: Callable[[torch.Generator], Mapping[str, float]], first_seed: int, seeds: int
) -> dict[str, Series]:
    """Quantity -> seed -> what a check gives for the random numbers of this seed."""
    rows = {seed: check(torch.Generator().manual_seed(seed)) for seed in range(first_seed, first_seed + seeds)}
    return {key: Series({seed: row[key] for seed, row in rows.items()}) for key in rows[first_seed]}


def draw(generator: torch.Generator, low: int, high: int) -> int:
    """A random whole number from `low` to `high`."""
    return int(torch.randint(low, high + 1, (), generator=generator))


def differing(left: Tensor, right: Tensor, tolerance: float = TOLERANCE) -> float:
    """The number of entries that differ by more than the tolerance, or are not finite in one of the two."""
    same = ((left - right).abs() <= tolerance) & left.isfinite() & right.isfinite()
    return float((~same).sum())
