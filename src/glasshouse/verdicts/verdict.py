"""Verdicts: is an arm of a study better than the first arm, worse, not different, or undecided? Knows nothing about runs.

`_Comparison._word` decides, by `statistics.outcome`, and `_Comparison._sentence` writes the sentence with the statistics.
docs/verdicts.md explains the method; benchmarks/verdict_errors.py measures its error rates by simulation.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy

from glasshouse.formatting import about, rounded
from glasshouse.verdicts import estimates, statistics
from glasshouse.verdicts.estimates import Estimate
from glasshouse.verdicts.sequential_tests import Look

NAN = float("nan")
BySeed = Mapping[int, float]
Values = Mapping[str, BySeed]  # arm -> seed -> metric; NaN means diverged
# The words of a verdict. comparison.json stores them.
BETTER, WORSE, NO_DIFFERENCE, UNDECIDED = WORDS = ("better", "worse", "no difference", "undecided")
# With fewer seeds, their spread is hardly known, and one unusual seed decides.
FEWEST_SEEDS = 4
# With more pairs, no single seed decides a verdict that is worth a warning.
FRAGILE_PAIRS = 64
# A smaller level is a typing error or damage: no number of seeds reaches it.
SMALLEST_ALPHA = 1e-9
# A larger margin, in units of the metric or in standard deviations, is a typing error or damage.
LARGEST_MARGIN = 1e30


@dataclass(frozen=True)
class VerdictRule:
    """How a verdict is reached: level, margin, direction of the metric and sequential looks.

    `margin` is in units of the metric. If it is None, the margin is `spread` standard deviations between the seeds of the
    first arm. `looks` are the numbers of seeds at the looks of a sequential study; empty means one look.
    """

    alpha: float = 0.05
    margin: float | None = None
    spread: float = 1.0
    higher_is_better: bool = False
    looks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not SMALLEST_ALPHA <= self.alpha < 0.5:
            raise ValueError(f"alpha={self.alpha} is not between {SMALLEST_ALPHA:g} and 0.5; choose for example 0.05")
        for name, value in (("margin", self.margin), ("spread", self.spread)):
            if value is not None and not 0 < value <= LARGEST_MARGIN:
                raise ValueError(f"{name}={value:g} is not between 0 and {LARGEST_MARGIN:g}; choose what matters")
        if self.looks and (self.looks[0] < 2 or list(self.looks) != sorted(set(self.looks))):
            raise ValueError(f"looks={self.looks} are not increasing numbers of seeds from 2 on; choose for example 4, 8")


@dataclass(frozen=True)
class Summary:
    """The mean over the seeds of one arm, its standard deviation, and the confidence interval of the mean (Student's t)."""

    seeds: int
    mean: float
    deviation: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """One arm minus the first arm, paired by seed, in units of the metric.

    A value that needs more pairs is NaN. With several looks, the confidence interval covers at all looks simultaneously.
    """

    pairs: int
    mean: float
    low: float
    high: float
    p: float  # paired t-test, two-sided, adjusted for skewness
    adjusted_p: float  # after the Holm correction over the arms, and adjusted for sequential looks
    effect: float  # effect size d_z: mean / standard deviation of the differences, with Hedges' correction
    margin: float
    equivalence_p: float  # equivalence test (TOST) against the margin, with the same corrections
    word: str  # one of WORDS
    more_seeds: int | None  # if undecided: about how many more seeds would decide it; None if unknown
    smallest: float  # the smallest true difference that this many pairs detect with power 0.8
    sentence: str  # "rotary is better than learned by 0.12 (95 % interval 0.08 to 0.16)" ...
    # The seed without which a decided verdict would be another one; None if there is none, or if it was not looked for.
    fragile: int | None = None


def summarise(values: Sequence[float], alpha: float = 0.05) -> Summary:
    """Summarise the finite values of one arm. With one seed, standard deviation and confidence interval are NaN."""
    finite = np.array([value for value in values if math.isfinite(value)])
    if not len(finite):
        raise ValueError(f"all {len(values)} seeds diverged, so there is no value to summarise; find out why they diverged")
    if len(finite) == 1:
        return Summary(1, float(finite[0]), NAN, NAN, NAN)
    mean, deviation = statistics.moments(finite)
    half_width = -scipy.special.stdtrit(len(finite) - 1, alpha / 2) * deviation / math.sqrt(len(finite))
    return Summary(len(finite), float(mean), float(deviation), float(mean - half_width), float(mean + half_width))


def judge(values: Values, rule: VerdictRule, items: "ItemScores | None" = None) -> dict[str, Difference]:
    """Arm -> difference from the first arm. `values`: arm -> seed -> metric; a value that is not finite means diverged.

    With `items` the verdict is about the population that the items were drawn from, and not about these items alone.
    """
    first, *others = values or [""]
    differences = _judged(values, [(arm, first) for arm in others], rule, items)
    return {arm: difference for (arm, _), difference in differences.items()}


def judge_pairs(values: Values, rule: VerdictRule, items: "ItemScores | None" = None) -> dict[tuple[str, str], Difference]:
    """(arm, earlier arm) -> difference of the arm from the earlier arm, for all pairs of arms, corrected over all of them.

    All pairs have the same margin: that of `judge`, from the seeds of the first arm.
    """
    return _judged(values, [(arm, against) for against, arm in combinations(values, 2)], rule, items)


@dataclass(frozen=True)
class ItemScores:
    """The metric of each item (a text, a pair, a window): arm -> seed -> scores. Every run is scored on the same items.

    The mean difference has two errors, that of few seeds and that of few items. More seeds reduce the first alone. A verdict
    also needs the test with the items as fixed: with few seeds, the degrees of freedom that the items add would otherwise
    make it easier to reach.
    """

    scores: Mapping[str, Mapping[int, np.ndarray]]
    name: str = "items"

    def scored(self, values: Values) -> Values:
        """The values of the seeds whose items were scored, and of those that diverged."""
        return {
            arm: {seed: value for seed, value in by_seed.items() if seed in self.scores[arm] or math.isnan(value)}
            for arm, by_seed in values.items()
        }

    def differences(self, arm: str, against: str, seeds: Sequence[int]) -> np.ndarray:
        """The differences [seed, item] between two arms, without rounding errors."""
        left, right = (np.stack([self.scores[name][seed] for seed in seeds]) for name in (arm, against))
        return _exact_differences(left, right)[0]


def _judged(
    values: Values, pairs: Sequence[tuple[str, str]], rule: VerdictRule, items: ItemScores | None
) -> dict[tuple[str, str], Difference]:
    if not pairs:
        return {}
    values = items.scored(values) if items else values
    margin = _Margin(next(iter(values.values())), rule)
    differences = _corrected([_Comparison(*pair, values, margin, rule) for pair in pairs])
    if items:
        differences = _corrected(
            [_Comparison(*pair, values, margin, rule, items, fixed) for pair, fixed in zip(pairs, differences, strict=True)]
        )
    return dict(zip(pairs, differences, strict=True))


def _corrected(comparisons: Sequence["_Comparison"]) -> list[Difference]:
    # A comparison without a p-value still counts in the correction, because more seeds may give it one.
    raw = np.array([comparison.p_values() for comparison in comparisons])
    different, equivalent = map(np.ndarray.tolist, statistics.holm_over_arms(*raw.T))
    return [
        comparison.difference(len(comparisons), *p_values)
        for comparison, *p_values in zip(comparisons, different, equivalent, strict=True)
    ]


class _Margin:
    """The margin of a study: fixed by the rule, or estimated from the seeds of the first arm.

    An estimated margin also has degrees of freedom and the influence of each seed (`statistics.jackknife_deviation`).
    """

    def __init__(self, first: BySeed, rule: VerdictRule) -> None:
        seeds = [seed for seed in sorted(first) if math.isfinite(first[seed])]
        self.value = NAN if rule.margin is None else rule.margin
        self.degrees: float | None = None
        self.influence: dict[int, float] = {}
        if rule.margin is None and len(seeds) > 1:
            deviation, degrees, influence = statistics.jackknife_deviation([first[seed] for seed in seeds])
            self.value, self.degrees = rule.spread * float(deviation), float(degrees)
            self.influence = dict(zip(seeds, map(float, influence), strict=True))


class _Comparison:
    """An arm and the arm that it is compared with, paired by the seeds that have a finite value in both.

    With `items` they are a sample too, and `fixed` is the difference with the items as fixed.
    """

    def __init__(
        self,
        name: str,
        first: str,
        values: Values,
        margin: _Margin,
        rule: VerdictRule,
        items: ItemScores | None = None,
        fixed: Difference | None = None,
    ) -> None:
        self.name, self.first, self.margin, self.rule, self.items, self.fixed = name, first, margin, rule, items, fixed
        arms = {arm: values[arm] for arm in (name, first)}
        trained = sorted(values[name].keys() & values[first].keys())
        self.diverged = {arm: [s for s in trained if not math.isfinite(table[s])] for arm, table in arms.items()}
        self.seeds = [seed for seed in trained if all(math.isfinite(table[seed]) for table in arms.values())]
        # A look is defined by the number of trained seeds, diverged ones included.
        self.look = Look.at(rule.looks, len(trained))
        self.differences = _paired_differences(*([table[seed] for seed in self.seeds] for table in arms.values()))
        self.estimate: Estimate | None = None
        if len(self.seeds) > 1 and items:
            table = items.differences(name, first, self.seeds)
            self.differences, self.estimate = table.mean(axis=1), estimates.from_units_and_items(table)
        elif len(self.seeds) > 1:
            self.estimate = estimates.from_units(self.differences)
        self.p = NAN if self.estimate is None else self.estimate.p_different(self.look.strength)
        self.equivalence_p = self._equivalence_p()

    def _equivalence_p(self) -> float:
        if self.estimate is None:
            return NAN
        if self.margin.degrees is None:
            return self.estimate.p_within(self.margin.value, self.look.strength)
        margin = (self.margin.value, self.margin.degrees, statistics.correlation(self.differences, self._influence()))
        sample, adjustment = self.estimate.sample, (self.estimate.skewness, self.look.strength)
        return float(statistics.equivalence_p(*sample, *margin, *adjustment))

    def _influence(self) -> list[float]:
        # A seed that diverged in the first arm of the study has no influence on the margin.
        return [self.margin.influence.get(seed, 0.0) for seed in self.seeds]

    def p_values(self) -> tuple[float, float]:
        """The p-values of the difference test and the equivalence test, corrected for looks; 1 without two pairs."""
        if self.estimate is None:
            return 1.0, 1.0
        return self.look.corrected(self.p), self.look.corrected(self.equivalence_p, two_sided=False)

    def difference(self, comparisons: int, adjusted_p: float, equivalence_p: float) -> Difference:
        """The result, from the p-values that are corrected for the number of comparisons."""
        rule, fixed, estimate = self.rule, self.fixed, self.estimate
        if estimate is None:
            return fixed or self._too_few_pairs()
        _, deviation, pairs = estimate.sample
        low, high = estimate.interval(self.look.level(rule.alpha), self.look.strength)
        level = rule.alpha / comparisons
        smallest = statistics.detectable_difference(deviation, pairs, self.look.level(level), self.look.strength)
        p = self.p
        if fixed:
            adjusted_p, equivalence_p = max(adjusted_p, fixed.adjusted_p), max(equivalence_p, fixed.equivalence_p)
            low, high = min(low, fixed.low), max(high, fixed.high)
            p, smallest = max(p, fixed.p), max(smallest, fixed.smallest)
        word = self._word(estimate, adjusted_p, equivalence_p)
        difference = Difference(
            pairs=estimate.units,
            mean=estimate.mean,
            low=low,
            high=high,
            p=p,
            adjusted_p=adjusted_p,
            effect=fixed.effect if fixed else statistics.effect_size(*estimate.sample),
            margin=self.margin.value,
            equivalence_p=equivalence_p,
            word=word,
            more_seeds=self._more_seeds(estimate, level) if word == UNDECIDED else None,
            smallest=smallest,
            sentence="",
            fragile=self._fragile(word, comparisons, adjusted_p, equivalence_p),
        )
        corrected = comparisons > 1 or len(self.look.looks) > 1
        return replace(difference, sentence=self._sentence(difference, estimate, corrected) + self._left_out())

    def _word(self, estimate: Estimate, adjusted_p: float, equivalence_p: float) -> str:
        outcome = statistics.outcome(adjusted_p, equivalence_p, self.rule.alpha, self.rule.alpha)
        if outcome == statistics.DIFFERENT:
            return BETTER if (estimate.mean > 0) == self.rule.higher_is_better else WORSE
        return NO_DIFFERENCE if outcome == statistics.EQUIVALENT else UNDECIDED

    def _fragile(self, word: str, comparisons: int, adjusted_p: float, equivalence_p: float) -> int | None:
        """The seed that decides, if the p-values of the other comparisons stay what they are."""
        if self.fixed:
            return self.fixed.fragile if word == self.fixed.word else None
        if word == UNDECIDED or len(self.look.looks) > 1 or len(self.seeds) > FRAGILE_PAIRS:
            return None
        corrections = [
            adjusted / p if p > 0 else comparisons
            for adjusted, p in ((adjusted_p, self.p), (equivalence_p, self.equivalence_p))
        ]
        levels = (self.rule.alpha / max(corrections[0], 1.0), self.rule.alpha / max(corrections[1], 1.0))
        margin = (self.margin.value, levels, self.margin.degrees, self._influence())
        index = statistics.one_seed_decides(self.differences, *margin)
        return None if index is None else self.seeds[index]

    def _more_seeds(self, estimate: Estimate, level: float) -> int | None:
        """How many more seeds give one of the two tests sufficient power, if the truth is what was observed so far.

        None if no number would.
        """
        margin = self.margin

        def power(seeds: int) -> float:
            mean, deviation, pairs = estimate.sample_of(seeds)
            if deviation == 0:
                return 1.0
            strength = self.look.strength
            difference = statistics.difference_power(mean / deviation, pairs, self.look.level(level, seeds), strength)
            if not margin.value > 0:
                return difference
            one_sided = self.look.level(level, seeds, two_sided=False)
            sample = (mean, deviation, pairs, margin.value)
            return max(difference, statistics.equivalence_power(*sample, one_sided, margin.degrees is not None, strength))

        needed = statistics.seeds_needed(power, estimate.units)
        return None if needed is None else needed - estimate.units

    def _sentence(self, difference: Difference, estimate: Estimate, corrected: bool) -> str:
        rule, word = self.rule, difference.word
        sign = -1 if word in (BETTER, WORSE) and difference.mean < 0 else 1
        ends = sorted((sign * difference.low, sign * difference.high))
        half_width = (difference.high - difference.low) / 2
        low, size, high = (rounded(value, half_width) for value in (ends[0], sign * difference.mean, ends[1]))
        interval = f"{100 * (1 - rule.alpha):.4g} % interval {low} to {high}"
        p = difference.equivalence_p if word == NO_DIFFERENCE else difference.adjusted_p
        p_value = f"{'corrected p' if corrected else 'p'} {f'= {p:.2g}' if p >= 0.0001 else '< 0.0001'}"
        over, joint = "", ","
        if self.items:
            over, joint = f", over {difference.pairs} seeds and {estimate.items:,} {self.items.name}", ";"
        if word == UNDECIDED:
            undecided = f"{self.name} is undecided against {self.first}: the difference is {size} ({interval}; {p_value})"
            outlook = self._outlook(difference)
            return f"{undecided}{over}{outlook and f'{joint} {outlook}'}"
        if word == NO_DIFFERENCE:
            if difference.low == difference.high == 0:
                same = f"the same value in each of {difference.pairs} seeds"
                return f"{self.name}: no difference from {self.first} at all, {same}{over}"
            deviations = "one standard deviation" if rule.spread == 1 else f"{rule.spread:g} standard deviations"
            source = f"{deviations} between its seeds; " if rule.margin is None else ""
            margin = rounded(self.margin.value, self.margin.value) if rule.margin is None else f"{rule.margin:.3g}"
            certain = ", certain but too small to matter" if difference.adjusted_p <= rule.alpha else ""
            details = f"{source}the difference is {size}{certain}, {interval}; {p_value}"
            return f"{self.name}: no difference from {self.first} larger than {margin} ({details}){over}"
        return f"{self.name} is {word} than {self.first} by {size} ({interval}; {p_value}){over}"

    def _outlook(self, undecided: Difference) -> str:
        more = undecided.more_seeds
        if more and undecided.pairs < FEWEST_SEEDS:
            return ""
        if more:
            return f"about {about(more)} more {'seed' if more == 1 else 'seeds'} would settle it"
        if self.items:
            return f"more seeds alone would not settle it, because the {self.items.name} are too few"
        return f"{statistics.MAX_SEEDS:,} seeds would not settle it"

    def _too_few_pairs(self) -> Difference:
        count, mean = ("only one seed has", float(self.differences[0])) if self.seeds else ("no seed has", NAN)
        sentence = f"{self.name} is undecided against {self.first}: {count} a value in both, but a paired test needs 2"
        undefined = (NAN, NAN, NAN, NAN, NAN, self.margin.value, NAN, UNDECIDED, None, NAN)
        return Difference(len(self.seeds), mean, *undefined, sentence + self._left_out())

    def _left_out(self) -> str:
        lists = [
            f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))} of {arm}"
            for arm, seeds in self.diverged.items()
            if seeds
        ]
        return f"; left out because they diverged: {', '.join(lists)}" if lists else ""


def _paired_differences(values: Sequence[float], first_values: Sequence[float]) -> np.ndarray:
    """The differences of arms that are equal, or differ by a constant, are constant."""
    differences, rounding = _exact_differences(np.array(values, dtype=float), np.array(first_values, dtype=float))
    constant = len(differences) and np.ptp(differences) <= rounding
    return np.full_like(differences, differences[0]) if constant else differences


def _exact_differences(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """The differences, where those that are errors of rounding are 0, and the largest error of rounding."""
    rounding = 4 * np.finfo(float).eps * max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0))
    return np.where(np.abs(left - right) <= rounding, 0.0, left - right), rounding
