"""A verdict in plain words: who was ahead in how many seeds, and by how much. The statistics have a sentence of their own.

The words never say more than the verdict: "beat" and "lost to" need a verdict of better or worse, and a mean that is ahead
without one is said to be what chance alone can do. Knows no HTML.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from glasshouse.formatting import MOST_DECIMALS, about, number
from glasshouse.metrics.metric import LARGEST_EXPONENT, Metric, Metrics, perplexity
from glasshouse.verdicts.verdict import BETTER, FEWEST_SEEDS, NO_DIFFERENCE, WORSE, Difference

# From this ratio on, "3 times as high" is easier to read than "200 % higher".
TIMES = 3.0
QUICK_LOOK = "a quick look: the models are tiny and trained for a few steps, so this shows that the study works and no more"


@dataclass(frozen=True)
class PlainMetric:
    """How a metric is written in a plain sentence. With `exponential`, values are losses that are shown as perplexities."""

    title: str  # "validation perplexity"
    higher_is_better: bool
    percentage: bool = False
    exponential: bool = False

    def pair(self, value: float, other: float) -> tuple[str, str]:
        """Two values, with as many decimals as their difference needs and at least three digits."""
        sizes = [self._shown(value), self._shown(other)]
        unit = " %" if self.percentage else ""
        gap, largest = abs(sizes[0] - sizes[1]), max(map(abs, sizes))
        places = max(2 - _magnitude(largest), -_magnitude(gap) if gap else 0, 0)
        texts = [number(size, min(places, MOST_DECIMALS)) + unit for size in sizes]
        return texts[0], texts[1]

    def change(self, value: float, other: float) -> str:
        """How far a value is from another: "11 % lower", "2.1 points higher", "3.2 times as high"."""
        shown, base = self._shown(value), self._shown(other)
        direction = "higher" if shown > base else "lower"
        if self.percentage:
            points = _two_digits(abs(shown - base))
            return f"{points} {'point' if points == '1' else 'points'} {direction}"
        if self.higher_is_better or base <= 0 or shown <= 0:
            return f"{_two_digits(abs(shown - base))} {direction}"
        if shown / base >= TIMES:
            return f"{_two_digits(shown / base)} times as high"
        return f"{_two_digits(100 * abs(shown / base - 1))} % {direction}"

    def size(self, margin: float) -> str:
        """A difference in the unit of the change: "3.6 %" for a difference of losses, "2 points" for one of shares."""
        if self.exponential:
            return f"{_two_digits(100 * math.expm1(min(margin, LARGEST_EXPONENT)))} %"
        return f"{_two_digits(100 * margin)} points" if self.percentage else _two_digits(margin)

    def _shown(self, value: float) -> float:
        return perplexity(value) if self.exponential else 100 * value if self.percentage else value


def plain_metric(name: str, metrics: Metrics, largest_value: float = 0.0) -> PlainMetric:
    """The plain form of a study's metric, such as `validation.loss`, among the metrics of its task.

    A loss is shown as perplexity if the task reports that too, unless the largest value is beyond what can be written so.
    """
    split, _, metric = name.partition(".")
    declared = metrics.find(metric)
    exponential = metric == "loss" and "perplexity" in metrics and largest_value < LARGEST_EXPONENT / 10
    shown: Metric = metrics["perplexity"] if exponential else declared
    return PlainMetric(f"{split} {shown.title}", declared.higher_is_better, shown.unit == "percent", exponential)


def sentence(
    arm: str,
    first: str,
    values: Mapping[int, float],
    first_values: Mapping[int, float],
    difference: Difference,
    metric: PlainMetric,
) -> str:
    """The verdict in one sentence without statistics. The values are by seed; those of diverged runs are not finite.

    The means are over the seeds that have a value in both arms: the seeds that decide the verdict.
    """
    common = sorted(values.keys() & first_values.keys())
    pairs = [(values[seed], first_values[seed]) for seed in common]
    pairs = [pair for pair in pairs if all(map(math.isfinite, pair))]
    if not pairs:
        return difference.sentence
    means = [math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True)]
    own, other = metric.pair(means[0], means[1])
    left_out = len(common) - len(pairs)
    without = f"; {left_out} more {'seed' if left_out == 1 else 'seeds'} diverged and cannot count" if left_out else ""
    if all(one == another for one, another in pairs):
        return f"{arm} and {first} are the same in every one of {len(pairs)} seeds: {metric.title} {own}{without}"
    if difference.word == NO_DIFFERENCE:
        within = f"the difference is shown to be smaller than {metric.size(difference.margin)}, the margin that matters"
        return f"{arm} does as well as {first}: {metric.title} {own} and {other}; {within}{without}"
    ahead = sum((one > another) == metric.higher_is_better for one, another in pairs if one != another)
    behind = sum(one != another for one, another in pairs) - ahead
    count = f"of {len(pairs)} seeds"
    figures = f"{metric.title} {own} instead of {other}, {metric.change(means[0], means[1])}"
    if difference.word == BETTER:
        return f"{arm} beat {first} in {ahead} {count}: {figures}{without}"
    if difference.word == WORSE:
        return f"{arm} lost to {first} in {behind} {count}: {figures}{without}"
    if means[0] == means[1]:
        figures = f"{metric.title} {own} on average in both"
    mean_is_ahead = (means[0] > means[1]) == metric.higher_is_better
    behind_first = behind > ahead or (behind == ahead and not mean_is_ahead)
    tried = f"{arm} was {'behind' if behind_first else 'ahead of'} {first} in {behind if behind_first else ahead} {count}"
    more = _more_seeds(difference.more_seeds, len(pairs))
    return f"{tried}: {figures} on average, and chance alone can do that{more}{without}"


def _more_seeds(more: int | None, pairs: int) -> str:
    """How many seeds would settle it, as a rough guess; nothing after few seeds, whose spread is hardly known."""
    if not more or pairs < FEWEST_SEEDS:
        return ""
    return f"; about {about(more)} more {'seed' if more == 1 else 'seeds'} would settle it"


def caution(pairs: int, quick: bool) -> str:
    """Why a verdict is weak by design: a quick look, or few seeds. Empty for a study of ordinary size."""
    if quick:
        return QUICK_LOOK
    if 0 < pairs < FEWEST_SEEDS:
        few = "1 seed is few" if pairs == 1 else f"{pairs} seeds are few"
        return f"a first look: {few}, and {FEWEST_SEEDS} or more would tell more"
    return ""


def _magnitude(size: float) -> int:
    return math.floor(math.log10(size)) if 0 < size < math.inf else 0


def _two_digits(size: float) -> str:
    """Two significant digits, or all digits before the decimal point: "11", "0.34", "1,900"."""
    if not 10.0**-MOST_DECIMALS <= size < math.inf:
        return number(size)
    rounded = round(size, 1 - _magnitude(size))
    return number(rounded, 0 if rounded >= 10 else min(max(0, 1 - _magnitude(rounded)), MOST_DECIMALS)).removesuffix(".0")
