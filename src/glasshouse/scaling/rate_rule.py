"""The learning rate of each size: a sweep at two sizes, and a power law in N through their best rates.

N parameters. With one rate for all sizes a scaling study favours the sizes that the rate suits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.formatting import count

# The rates of a sweep, as multiples of the recipe's.
FACTORS = tuple(2.0**power for power in range(-3, 4))
# At most so many rates are added beyond the edge of a sweep, each twice or half the one at the edge.
EXTENSIONS = 3
DIGITS = 3


@dataclass(frozen=True)
class SweptSize:
    """A size with the rate at which its loss is lowest. `at_edge`: no lower, or no higher rate was tried."""

    parameters: float
    rate: float
    at_edge: bool


@dataclass(frozen=True)
class RateRule:
    """The power law through the best rates of a small and a large size."""

    small: SweptSize
    large: SweptSize

    @property
    def exponent(self) -> float:
        return math.log(self.large.rate / self.small.rate) / math.log(self.large.parameters / self.small.parameters)

    def rate(self, parameters: float) -> float:
        """The learning rate of a size, rounded so that it is the same on every machine."""
        rate = self.small.rate * (parameters / self.small.parameters) ** self.exponent
        return float(f"{rate:.{DIGITS}g}")

    def __str__(self) -> str:
        rule = " and ".join(f"{each.rate:.2g} for {count(each.parameters)}" for each in (self.small, self.large))
        edge = "; a best rate lies at the edge of the sweep" if self.small.at_edge or self.large.at_edge else ""
        law = f"proportional to N^{self.exponent:.2f}"
        return f"each size has its own learning rate, {law}: {rule} parameters, by a sweep{edge}"


def best_rate(parameters: float, losses: Mapping[float, float]) -> SweptSize | None:
    """The rate with the lowest loss, by a parabola in log rate through the best tried rate and its neighbours.

    losses: rate -> loss, NaN if the run diverged. None if all did.
    """
    rates = sorted(rate for rate, loss in losses.items() if math.isfinite(loss))
    if not rates:
        return None
    place = min(range(len(rates)), key=lambda index: losses[rates[index]])
    if place in (0, len(rates) - 1):
        # A higher rate that diverged is an edge as well as one that was not tried, but nothing is missing there.
        tried = sorted(losses)
        return SweptSize(parameters, rates[place], rates[place] in (tried[0], tried[-1]))
    return SweptSize(parameters, _vertex(rates[place - 1 : place + 2], losses), False)


def _vertex(rates: Sequence[float], losses: Mapping[float, float]) -> float:
    x = np.log(rates)
    curvature, slope, _ = np.polyfit(x - x[1], [losses[rate] for rate in rates], 2)
    if curvature <= 0:
        return rates[1]
    return float(np.exp(np.clip(x[1] - slope / (2 * curvature), x[0], x[2])))
