"""Paired comparisons inside a claim: the margins that several claims share, and differences as text and as plot data.

`glasshouse compare` compares every arm with the first. A claim often compares pairs of arms instead, for example two kinds
of attention at each width. `judge_family` judges these pairs with one correction over all pairs.
"""

import math
from collections.abc import Mapping

from glasshouse.formatting import rounded
from glasshouse.metrics.verdicts import BETTER, NO_DIFFERENCE, WORSE, BySeed, Difference, summarise

__all__ = ["CHARACTER_MARGIN", "TOKEN_MARGIN", "BySeed", "describe", "means_with_intervals"]
# Smaller differences in loss do not matter: 2 % of perplexity per token, and less per character, because a word has about
# five characters.
TOKEN_MARGIN, CHARACTER_MARGIN = 0.02, 0.005


def describe(difference: Difference, scale: float = 1.0) -> str:
    """`worse by 0.12 (95 % interval 0.08 to 0.16)`. The names of the two sides are left to the caller."""
    if math.isnan(difference.low):
        reason = (
            "one of them diverged in every seed"
            if difference.word in (BETTER, WORSE)
            else "too few seeds finished without diverging"
        )
        return f"{difference.word} ({reason})"
    numbers = [scale * number for number in (difference.mean, difference.low, difference.high)]
    half_width = (numbers[2] - numbers[1]) / 2
    if difference.word in (BETTER, WORSE) and numbers[0] < 0:
        numbers = [-numbers[0], -numbers[2], -numbers[1]]
    mean, low, high = (rounded(number, half_width) for number in numbers)
    interval = f"95 % interval {low} to {high}"
    if difference.word in (BETTER, WORSE):
        return f"{difference.word} by {mean} ({interval})"
    if difference.word == NO_DIFFERENCE:
        return f"no difference larger than {scale * difference.margin:.3g} (difference {mean}, {interval})"
    return f"undecided (difference {mean}, {interval})"


def means_with_intervals(values: Mapping[int, BySeed]) -> dict[float, tuple[float, float, float]]:
    """Setting -> (mean, low, high) over seeds, for a plot. Settings in which every seed diverged are left out."""
    points: dict[float, tuple[float, float, float]] = {}
    for setting, by_seed in values.items():
        if finite := [value for value in by_seed.values() if math.isfinite(value)]:
            summary = summarise(finite)
            low, high = (end if math.isfinite(end) else summary.mean for end in (summary.low, summary.high))
            points[setting] = (summary.mean, low, high)
    return points
