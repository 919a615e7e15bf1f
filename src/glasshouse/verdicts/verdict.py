"""Verdicts: is an arm of a study better than the first arm, worse, not different, or undecided? Knows nothing about runs.

The order of the outcomes: a difference that is shown to be smaller than the margin is "no difference", whatever its
direction and even if that is certain, because it is too small to matter. Only then it may be "better" or "worse". What
neither test shows is "undecided".

docs/verdicts.md explains the method; benchmarks/verdict_errors.py measures its error rates by simulation.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from glasshouse.formatting import about, rounded
from glasshouse.verdicts import sequential_tests, skewness, statistics

NAN = float("nan")
BySeed = Mapping[int, float]
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
                raise ValueError(
                    f"{name}={value:g} is not between 0 and {LARGEST_MARGIN:g}; choose the smallest difference that matters"
                )
        if self.looks and (self.looks[0] < 2 or list(self.looks) != sorted(set(self.looks))):
            raise ValueError(
                f"looks={self.looks} are not increasing numbers of seeds from 2 on; choose for example 4, 8, 12"
            )


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
        raise ValueError(
            f"all {len(values)} seeds diverged, so there is no value to summarise; find out why they diverged",
        )
    if len(finite) == 1:
        return Summary(1, float(finite[0]), NAN, NAN, NAN)
    mean, deviation = statistics.moments(finite)
    half_width = statistics.half_width(deviation, len(finite), alpha)
    return Summary(len(finite), float(mean), float(deviation), float(mean - half_width), float(mean + half_width))


def judge(values: Mapping[str, Mapping[int, float]], rule: VerdictRule) -> dict[str, Difference]:
    """Arm -> difference from the first arm. `values`: arm -> seed -> metric; a value that is not finite means diverged."""
    names = list(values)
    if len(names) < 2:
        return {}
    margin = _Margin(values[names[0]], rule)
    arms = [_PairedArm(name, names[0], values[name], values[names[0]], margin, rule) for name in names[1:]]
    return dict(zip(names[1:], _judge_all(arms), strict=True))


def judge_pairs(values: Mapping[str, BySeed], rule: VerdictRule) -> dict[tuple[str, str], Difference]:
    """(arm, earlier arm) -> difference of the arm from the earlier arm, for all pairs of arms, corrected over all of them.

    All pairs have the same margin: that of `judge`, from the seeds of the first arm.
    """
    if not values:
        return {}
    margin = _Margin(next(iter(values.values())), rule)
    pairs = [(arm, against) for against, arm in combinations(values, 2)]
    arms = [_PairedArm(arm, against, values[arm], values[against], margin, rule) for arm, against in pairs]
    return dict(zip(pairs, _judge_all(arms), strict=True))


def judge_family(pairs: Mapping[str, tuple[BySeed, BySeed]], rule: VerdictRule) -> dict[str, Difference]:
    """Name of a pair -> difference of its second from its first table (seed -> metric), corrected over all pairs.

    If only one side of a pair diverged in every seed, that side is worse.
    """
    arms = [
        _PairedArm(name, "the first", second, first, _Margin(first, rule), rule, divergence_decides=True)
        for name, (first, second) in pairs.items()
    ]
    return dict(zip(pairs, _judge_all(arms), strict=True))


def _judge_all(arms: Sequence["_PairedArm"]) -> list[Difference]:
    if not arms:
        return []
    # An arm without a p-value still counts in the correction, because more seeds may give it one.
    raw = np.array([arm.sequential_p_values() for arm in arms])
    different, equivalent = statistics.holm_over_arms(*np.where(np.isnan(raw), 1.0, raw).T)
    return [arm.difference(len(arms), float(different[i]), float(equivalent[i])) for i, arm in enumerate(arms)]


class _Margin:
    """The margin of a study: fixed by the rule, or estimated from the seeds of the first arm.

    An estimated margin also has degrees of freedom and the influence of each seed (`statistics.jackknife_deviation`).
    """

    def __init__(self, first: Mapping[int, float], rule: VerdictRule) -> None:
        seeds = [seed for seed in sorted(first) if math.isfinite(first[seed])]
        self.value = NAN if rule.margin is None else rule.margin
        self.degrees: float | None = None
        self.influence: dict[int, float] = dict.fromkeys(seeds, 0.0)
        if rule.margin is None and len(seeds) > 1:
            deviation, degrees, influence = statistics.jackknife_deviation([first[seed] for seed in seeds])
            self.value, self.degrees = rule.spread * float(deviation), float(degrees)
            self.influence = dict(zip(seeds, map(float, influence), strict=True))


class _PairedArm:
    """An arm and the arm that it is compared with, `first`, paired by the seeds that have a finite value in both."""

    def __init__(
        self,
        name: str,
        first: str,
        values: BySeed,
        first_values: BySeed,
        margin: _Margin,
        rule: VerdictRule,
        divergence_decides: bool = False,
    ) -> None:
        self.name, self.first, self.margin, self.rule = name, first, margin, rule
        common = sorted(values.keys() & first_values.keys())
        self.diverged = {
            arm: [seed for seed in common if not math.isfinite(table[seed])]
            for arm, table in ((name, values), (first, first_values))
        }
        self.divergence_word = _word_by_divergence(values, first_values) if divergence_decides else ""
        self.seeds = [seed for seed in common if math.isfinite(values[seed]) and math.isfinite(first_values[seed])]
        # A look is defined by the number of trained seeds, diverged ones included.
        self.looks = sequential_tests.add_look(rule.looks, len(common)) if rule.looks else (len(common),)
        self.trained = len(common)
        self.differences = _paired_differences(
            [values[seed] for seed in self.seeds], [first_values[seed] for seed in self.seeds]
        )
        self.mean = self.deviation = self.skewness = self.p = self.equivalence_p = NAN
        self.pairs = len(self.differences)
        self.strength = sequential_tests.strength(self.looks)
        # A seed that diverged in the first arm of the study has no influence on the margin.
        self.influence = [margin.influence.get(seed, 0.0) for seed in self.seeds]
        if self.pairs > 1:
            self.mean, self.deviation = map(float, statistics.moments(self.differences))
            self.skewness = float(skewness.sample_skewness(self.differences))
            sample, adjustment = (self.mean, self.deviation, self.pairs), (self.skewness, self.strength)
            self.p = float(statistics.difference_p(*sample, *adjustment))
            error_correlation = statistics.correlation(self.differences, self.influence)
            margin_figures = (margin.value, margin.degrees, error_correlation)
            self.equivalence_p = float(statistics.equivalence_p(*sample, *margin_figures, *adjustment))
        elif self.pairs:
            self.mean = float(self.differences[0])

    def sequential_p_values(self) -> tuple[float, float]:
        """The p-values of the difference test and the equivalence test, adjusted for sequential looks."""
        if self.pairs < 2:
            return NAN, NAN
        return (
            float(sequential_tests.sequential_p(self.p, self.looks, self.trained)),
            float(sequential_tests.sequential_p(self.equivalence_p, self.looks, self.trained, two_sided=False)),
        )

    def difference(self, arms: int, adjusted_p: float, equivalence_p: float) -> Difference:
        """The result for this arm, from its corrected p-values and the number of comparisons."""
        rule, margin = self.rule, self.margin.value
        if self.divergence_word:
            word = self.divergence_word
            sentence = f"{self.name} is {word} than {self.first}: one of them diverged in every seed"
            return Difference(self.pairs, NAN, NAN, NAN, NAN, 0.0, NAN, margin, NAN, word, None, NAN, sentence)
        if self.pairs < 2:
            sentence = self._too_few_pairs() + self._left_out()
            undefined = (NAN, NAN, NAN, NAN, NAN, margin, NAN, UNDECIDED, None, NAN)
            return Difference(self.pairs, self.mean, *undefined, sentence)
        nominal = self._nominal_level(rule.alpha, self.trained)
        sample = (self.mean, self.deviation, self.pairs)
        low, high = map(float, statistics.interval(*sample, nominal, self.skewness, self.strength))
        word = self._word(adjusted_p, equivalence_p)
        level = rule.alpha / arms
        more = self._more_seeds(level) if word == UNDECIDED else None
        corrected = arms > 1 or len(self.looks) > 1
        smallest_level = self._nominal_level(level, self.trained)
        return Difference(
            pairs=self.pairs,
            mean=self.mean,
            low=low,
            high=high,
            p=self.p,
            adjusted_p=adjusted_p,
            effect=statistics.effect_size(self.mean, self.deviation, self.pairs),
            margin=margin,
            equivalence_p=equivalence_p,
            word=word,
            more_seeds=more,
            smallest=statistics.detectable_difference(self.deviation, self.pairs, smallest_level, self.strength),
            sentence=self._sentence(word, (low, high), adjusted_p, equivalence_p, more, corrected) + self._left_out(),
            fragile=self._fragile(word, arms, adjusted_p, equivalence_p),
        )

    def _word(self, adjusted_p: float, equivalence_p: float) -> str:
        alpha = self.rule.alpha
        outcome = statistics.outcome(adjusted_p, equivalence_p, alpha, alpha)
        if outcome == statistics.DIFFERENT:
            return BETTER if (self.mean > 0) == self.rule.higher_is_better else WORSE
        return NO_DIFFERENCE if outcome == statistics.EQUIVALENT else UNDECIDED

    def _fragile(self, word: str, arms: int, adjusted_p: float, equivalence_p: float) -> int | None:
        """The seed that decides, if the p-values of the other arms stay what they are."""
        if word == UNDECIDED or len(self.looks) > 1 or self.pairs > FRAGILE_PAIRS:
            return None
        corrections = [
            adjusted / p if p > 0 else arms for adjusted, p in ((adjusted_p, self.p), (equivalence_p, self.equivalence_p))
        ]
        levels = (self.rule.alpha / max(corrections[0], 1.0), self.rule.alpha / max(corrections[1], 1.0))
        margin = (self.margin.value, levels, self.margin.degrees, self.influence)
        index = statistics.one_seed_decides(self.differences, *margin)
        return None if index is None else self.seeds[index]

    def _nominal_level(self, level: float, seeds: int, two_sided: bool = True) -> float:
        return sequential_tests.nominal_level(level, self.looks, seeds, two_sided)

    def _more_seeds(self, level: float) -> int | None:
        """How many more seeds give one of the two tests sufficient power, if the truth is what was observed so far."""

        def power(seeds: int) -> float:
            difference_level = self._nominal_level(level, seeds)
            effect = self.mean / self.deviation
            difference = statistics.difference_power(effect, seeds, difference_level, self.strength)
            if not self.margin.value > 0:
                return difference
            equivalence_level = self._nominal_level(level, seeds, two_sided=False)
            sample = (self.mean, self.deviation, seeds, self.margin.value)
            estimated = self.margin.degrees is not None
            equivalence = statistics.equivalence_power(*sample, equivalence_level, estimated, self.strength)
            return max(difference, equivalence)

        needed = statistics.seeds_needed(power, self.pairs)
        return None if needed is None else needed - self.pairs

    def _sentence(
        self,
        word: str,
        ends: tuple[float, float],
        adjusted_p: float,
        equivalence_p: float,
        more: int | None,
        corrected: bool,
    ) -> str:
        sign = -1 if word in (BETTER, WORSE) and self.mean < 0 else 1
        half_width = (ends[1] - ends[0]) / 2
        low, size, high = (
            rounded(sign * end, half_width) for end in (ends[(1 - sign) // 2], self.mean, ends[(1 + sign) // 2])
        )
        interval = f"{100 * (1 - self.rule.alpha):.4g} % interval {low} to {high}"
        p_value = _p_value(equivalence_p if word == NO_DIFFERENCE else adjusted_p, corrected)
        margin = rounded(self.margin.value, self.margin.value) if self.rule.margin is None else f"{self.rule.margin:.3g}"
        if word == UNDECIDED:
            undecided = f"{self.name} is undecided against {self.first}: the difference is {size} ({interval}; {p_value})"
            if not more:
                return f"{undecided}, {statistics.MAX_SEEDS:,} seeds would not settle it"
            if self.pairs < FEWEST_SEEDS:
                return undecided
            return f"{undecided}, about {about(more)} more {'seed' if more == 1 else 'seeds'} would settle it"
        if word == NO_DIFFERENCE:
            if self.deviation == 0 and self.mean == 0:
                return f"{self.name}: no difference from {self.first} at all, the same value in each of {self.pairs} seeds"
            spread = self.rule.spread
            deviations = "one standard deviation" if spread == 1 else f"{spread:g} standard deviations"
            source = f"{deviations} between its seeds; " if self.rule.margin is None else ""
            certain = ", certain but too small to matter" if adjusted_p <= self.rule.alpha else ""
            details = f"{source}the difference is {size}{certain}, {interval}; {p_value}"
            return f"{self.name}: no difference from {self.first} larger than {margin} ({details})"
        return f"{self.name} is {word} than {self.first} by {size} ({interval}; {p_value})"

    def _too_few_pairs(self) -> str:
        count = "only one seed has" if self.pairs else "no seed has"
        return f"{self.name} is undecided against {self.first}: {count} a value in both, but a paired test needs 2"

    def _left_out(self) -> str:
        lists = [
            f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))} of {arm}"
            for arm, seeds in self.diverged.items()
            if seeds
        ]
        return f"; left out because they diverged: {', '.join(lists)}" if lists else ""


def _word_by_divergence(values: BySeed, first_values: BySeed) -> str:
    """The verdict if exactly one side diverged in every seed; empty otherwise."""
    has_finite = [any(map(math.isfinite, side.values())) for side in (values, first_values)]
    if not values or not first_values or has_finite[0] == has_finite[1]:
        return ""
    return BETTER if has_finite[0] else WORSE


def _paired_differences(values: Sequence[float], first_values: Sequence[float]) -> np.ndarray:
    """The differences without rounding errors: arms that are equal, or differ by a constant, give constant differences."""
    left, right = np.array(values, dtype=float), np.array(first_values, dtype=float)
    rounding = 4 * np.finfo(float).eps * max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0))
    differences = np.where(np.abs(left - right) <= rounding, 0.0, left - right)
    return np.full_like(differences, differences[0]) if len(left) and np.ptp(differences) <= rounding else differences


def _p_value(p: float, corrected: bool) -> str:
    return f"{'corrected p' if corrected else 'p'} {f'= {p:.2g}' if p >= 0.0001 else '< 0.0001'}"
