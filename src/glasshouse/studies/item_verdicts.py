"""Verdicts about a population of items: the seeds are a sample, and so are the items that every run is scored on.

The mean difference has two errors, that of few seeds and that of few items (`verdicts.estimates.from_units_and_items`). More
seeds reduce the first alone. Looks and arms are corrected for as in `verdicts.verdict`. A verdict needs the test with the
items as fixed too: with few seeds, the degrees of freedom that the items add would otherwise make it easier to reach.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from glasshouse.formatting import about, rounded
from glasshouse.verdicts import estimates, sequential_tests, statistics
from glasshouse.verdicts.estimates import Estimate
from glasshouse.verdicts.verdict import (
    BETTER,
    FEWEST_SEEDS,
    NO_DIFFERENCE,
    UNDECIDED,
    WORSE,
    Difference,
    VerdictRule,
    judge,
    judge_pairs,
)

Values = Mapping[str, Mapping[int, float]]  # arm -> seed -> metric; NaN means diverged
Items = Mapping[str, Mapping[int, np.ndarray]]  # arm -> seed -> the metric of each item
# Relative to the largest value; a smaller difference between two items is an error of rounding.
ROUNDING = 4 * np.finfo(float).eps


def judge_with_items(values: Values, items: Items, rule: VerdictRule, item_name: str) -> dict[str, Difference]:
    """Arm -> its difference from the first arm. Only seeds whose items were scored in both arms are used."""
    if len(values) < 2:
        return {}
    first, *others = values
    scored = _scored(values, items)
    # These take the items as fixed. They have the margin, the effect size and the warnings about seeds.
    about_seeds = judge(scored, rule)
    margin = _Margin.of(scored[first], rule)
    arms = [_ItemArm(arm, first, scored, items, about_seeds[arm], margin, rule) for arm in others]
    return dict(zip(others, _judge_all(arms, item_name), strict=True))


def judge_pairs_with_items(
    values: Values, items: Items, rule: VerdictRule, item_name: str
) -> dict[tuple[str, str], Difference]:
    """(arm, earlier arm) -> its difference from the earlier arm, for all pairs of arms, corrected over all of them."""
    if len(values) < 2:
        return {}
    scored = _scored(values, items)
    about_seeds = judge_pairs(scored, rule)
    margin = _Margin.of(next(iter(scored.values())), rule)
    arms = [
        _ItemArm(arm, against, scored, items, difference, margin, rule) for (arm, against), difference in about_seeds.items()
    ]
    return dict(zip(about_seeds, _judge_all(arms, item_name), strict=True))


def _scored(values: Values, items: Items) -> Values:
    """The values of the seeds whose items were scored, and of those that diverged."""
    return {arm: {s: v for s, v in values[arm].items() if s in items[arm] or math.isnan(v)} for arm in values}


def _judge_all(arms: Sequence["_ItemArm"], item_name: str) -> list[Difference]:
    raw = np.array([arm.sequential_p_values() for arm in arms])
    different, equivalent = statistics.holm_over_arms(*np.where(np.isnan(raw), 1.0, raw).T)
    return [
        arm.difference(len(arms), float(different[index]), float(equivalent[index]), item_name)
        for index, arm in enumerate(arms)
    ]


@dataclass(frozen=True)
class _Margin:
    """The margin; if it is estimated from the first arm, also its degrees of freedom and the influence of each seed."""

    value: float
    degrees: float | None
    influence: Mapping[int, float]

    @classmethod
    def of(cls, first: Mapping[int, float], rule: VerdictRule) -> "_Margin":
        seeds = [seed for seed in sorted(first) if math.isfinite(first[seed])]
        if rule.margin is not None or len(seeds) < 2:
            return cls(math.nan if rule.margin is None else rule.margin, None, dict.fromkeys(seeds, 0.0))
        deviation, degrees, influence = statistics.jackknife_deviation([first[seed] for seed in seeds])
        by_seed = dict(zip(seeds, map(float, influence), strict=True))
        return cls(rule.spread * float(deviation), float(degrees), by_seed)


class _ItemArm:
    """An arm and the arm that it is compared with, `first`: the table of their differences, seeds by items."""

    def __init__(
        self,
        name: str,
        first: str,
        values: Values,
        items: Items,
        about_seeds: Difference,
        margin: _Margin,
        rule: VerdictRule,
    ) -> None:
        self.name, self.first, self.about_seeds, self.margin, self.rule = name, first, about_seeds, margin, rule
        common = sorted(values[name].keys() & values[first].keys())
        self.seeds = [seed for seed in common if seed in items[name] and seed in items[first]]
        self.left_out = [seed for seed in common if seed not in self.seeds]
        self.trained = len(common)
        self.looks = sequential_tests.add_look(rule.looks, len(common)) if rule.looks else (len(common),)
        self.strength = sequential_tests.strength(self.looks)
        self.estimate: Estimate | None = None
        if len(self.seeds) > 1:
            table = _table(items[name], items[first], self.seeds)
            self.by_seed = table.mean(axis=1)
            self.estimate = estimates.from_units_and_items(table)

    def sequential_p_values(self) -> tuple[float, float]:
        """The p-values of the difference test and of the equivalence test, adjusted for looks; 1 without two pairs."""
        if self.estimate is None:
            return 1.0, 1.0
        looks, trained = self.looks, self.trained
        return (
            float(sequential_tests.sequential_p(self._difference_p(), looks, trained)),
            float(sequential_tests.sequential_p(self._equivalence_p(), looks, trained, two_sided=False)),
        )

    def _difference_p(self) -> float:
        assert self.estimate is not None
        return min(1.0, 2 * min(self.estimate.p_above(0.0, self.strength), self.estimate.p_below(0.0, self.strength)))

    def _equivalence_p(self) -> float:
        assert self.estimate is not None
        margin, strength = self.margin.value, self.strength
        if self.margin.degrees is None:
            return max(self.estimate.p_below(margin, strength), self.estimate.p_above(-margin, strength))
        pairs, deviation = _equivalent_sample(self.estimate.error, self.estimate.degrees)
        influence = [self.margin.influence.get(seed, 0.0) for seed in self.seeds]
        correlation = statistics.correlation(self.by_seed, influence)
        sample, adjustment = (self.estimate.mean, deviation, pairs), (self.estimate.skewness, strength)
        return float(statistics.equivalence_p(*sample, margin, self.margin.degrees, correlation, *adjustment))

    def difference(self, arms: int, adjusted_p: float, equivalence_p: float, item_name: str) -> Difference:
        """The result for this arm, from its corrected p-values and the number of comparisons."""
        estimate, rule, about_seeds = self.estimate, self.rule, self.about_seeds
        if estimate is None:
            return about_seeds
        adjusted_p = max(adjusted_p, about_seeds.adjusted_p)
        equivalence_p = max(equivalence_p, about_seeds.equivalence_p)
        word = self._word(adjusted_p, equivalence_p)
        level = rule.alpha / arms
        low, high = estimate.interval(self._nominal_level(rule.alpha, self.trained), self.strength)
        low, high = min(low, about_seeds.low), max(high, about_seeds.high)
        more = self._more_seeds(level) if word == UNDECIDED else None
        pairs, deviation = _equivalent_sample(estimate.error, estimate.degrees)
        smallest = statistics.detectable_difference(
            deviation, pairs, self._nominal_level(level, self.trained), self.strength
        )
        corrected = arms > 1 or len(self.looks) > 1
        p_value = _p_text(equivalence_p if word == NO_DIFFERENCE else adjusted_p, corrected)
        return replace(
            about_seeds,
            pairs=estimate.units,
            mean=estimate.mean,
            low=low,
            high=high,
            p=max(self._difference_p(), about_seeds.p),
            adjusted_p=adjusted_p,
            equivalence_p=equivalence_p,
            word=word,
            more_seeds=more,
            smallest=max(smallest, about_seeds.smallest),
            sentence=self._sentence(word, (low, high), p_value, adjusted_p, more, item_name) + self._left_out(),
            fragile=about_seeds.fragile if word == about_seeds.word else None,
        )

    def _word(self, adjusted_p: float, equivalence_p: float) -> str:
        assert self.estimate is not None
        found = statistics.outcome(adjusted_p, equivalence_p, self.rule.alpha, self.rule.alpha)
        if found == statistics.DIFFERENT:
            return BETTER if (self.estimate.mean > 0) == self.rule.higher_is_better else WORSE
        return NO_DIFFERENCE if found == statistics.EQUIVALENT else UNDECIDED

    def _nominal_level(self, level: float, seeds: int, two_sided: bool = True) -> float:
        return sequential_tests.nominal_level(level, self.looks, seeds, two_sided)

    def _more_seeds(self, level: float) -> int | None:
        """How many more seeds would probably decide it; None if no number would, because the items are too few."""
        estimate, margin = self.estimate, self.margin
        assert estimate is not None
        of_seeds = float(np.var(self.by_seed, ddof=1))
        of_items = max(estimate.error**2 - of_seeds / estimate.units, 0.0)

        def power(seeds: int) -> float:
            square = of_seeds / seeds + of_items
            spread = (of_seeds / seeds) ** 2 / (seeds - 1) + of_items**2 / max(estimate.items - 1, 1)
            pairs, deviation = _equivalent_sample(math.sqrt(square), square**2 / spread if spread else seeds - 1.0)
            if deviation == 0:
                return 1.0
            found = statistics.difference_power(
                estimate.mean / deviation, pairs, self._nominal_level(level, seeds), self.strength
            )
            if not margin.value > 0:
                return found
            one_sided = self._nominal_level(level, seeds, two_sided=False)
            sample = (estimate.mean, deviation, pairs, margin.value)
            return max(found, statistics.equivalence_power(*sample, one_sided, margin.degrees is not None, self.strength))

        needed = statistics.seeds_needed(power, estimate.units)
        return None if needed is None else needed - estimate.units

    def _sentence(
        self, word: str, ends: tuple[float, float], p_value: str, adjusted_p: float, more: int | None, item_name: str
    ) -> str:
        estimate, rule = self.estimate, self.rule
        assert estimate is not None
        sign, half_width = -1 if word in (BETTER, WORSE) and estimate.mean < 0 else 1, (ends[1] - ends[0]) / 2
        low, high = sorted(sign * end for end in ends)
        low_text, size, high_text = (rounded(value, half_width) for value in (low, sign * estimate.mean, high))
        interval = f"{100 * (1 - rule.alpha):.4g} % interval {low_text} to {high_text}"
        sample = f"over {estimate.units} seeds and {estimate.items:,} {item_name}"
        margin = rounded(self.margin.value, self.margin.value) if rule.margin is None else f"{rule.margin:.3g}"
        if word == UNDECIDED:
            against = f"{self.name} is undecided against {self.first}: the difference is {size} ({interval}; {p_value})"
            if more is None:
                return f"{against}, {sample}; more seeds alone would not settle it, because the {item_name} are too few"
            if estimate.units < FEWEST_SEEDS:
                return f"{against}, {sample}"
            return f"{against}, {sample}; about {about(more)} more {'seed' if more == 1 else 'seeds'} would settle it"
        if word == NO_DIFFERENCE:
            certain = ", certain but too small to matter" if adjusted_p <= rule.alpha else ""
            details = f"the difference is {size}{certain}, {interval}; {p_value}"
            return f"{self.name}: no difference from {self.first} larger than {margin} ({details}), {sample}"
        return f"{self.name} is {word} than {self.first} by {size} ({interval}; {p_value}), {sample}"

    def _left_out(self) -> str:
        if not self.left_out:
            return ""
        seeds = f"{'seed' if len(self.left_out) == 1 else 'seeds'} {', '.join(map(str, self.left_out))}"
        return f"; left out because a run diverged: {seeds}"


def _table(items: Mapping[int, np.ndarray], first: Mapping[int, np.ndarray], seeds: Sequence[int]) -> np.ndarray:
    """The differences [seed, item], without errors of rounding."""
    left, right = (np.stack([side[seed] for seed in seeds]) for side in (items, first))
    rounding = ROUNDING * max(np.abs(left).max(), np.abs(right).max())
    return np.where(np.abs(left - right) <= rounding, 0.0, left - right)


def _equivalent_sample(error: float, degrees: float) -> tuple[int, float]:
    """(number, standard deviation) of independent differences whose mean has this error and these degrees of freedom."""
    pairs = max(math.floor(degrees), 1) + 1
    return pairs, error * math.sqrt(pairs)


def _p_text(p: float, corrected: bool) -> str:
    return f"{'corrected p' if corrected else 'p'} {f'= {p:.2g}' if p >= 0.0001 else '< 0.0001'}"
