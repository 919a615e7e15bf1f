"""Verdicts: is an arm of a study better than the first, worse, not different, or is that undecided? Knows nothing of runs.

The method and its reasons are in docs/verdicts.md; benchmarks/verdicts.py shows its errors by simulation.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.formatting import rounded
from glasshouse.metrics import sequential_tests, statistics
from glasshouse.specs.errors import DataError, SpecError

NAN = float("nan")
BySeed = Mapping[int, float]
WORDS = ("better", "worse", "no difference", "undecided")


@dataclass(frozen=True)
class VerdictRule:
    """How a verdict is reached."""

    alpha: float = 0.05
    margin: float | None = None  # in units of the metric; None: `spread` standard deviations between seeds of the first arm
    spread: float = 1.0
    higher_is_better: bool = False
    looks: tuple[int, ...] = ()  # seeds at each look of a sequential study; empty: one look

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:
            raise SpecError("bad-alpha", f"alpha={self.alpha} is not between 0 and 0.5; choose for example 0.05")
        for name, value in (("margin", self.margin), ("spread", self.spread)):
            if value is not None and not 0 < value < math.inf:
                raise SpecError(
                    "bad-margin", f"{name}={value} is not above 0; give the smallest difference that would matter"
                )
        if self.looks and (self.looks[0] < 2 or list(self.looks) != sorted(set(self.looks))):
            raise SpecError(
                "bad-looks", f"looks={self.looks} do not grow from at least 2 seeds; choose for example 4, 8, 12"
            )


@dataclass(frozen=True)
class Summary:
    """One arm: the interval is that of its mean (Student's t, 95 % unless another alpha was given)."""

    seeds: int
    mean: float
    deviation: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """One arm against the first, paired by seed, in the metric's units (arm - first).

    What cannot be said from so few pairs is NaN. With looks, the interval covers the true difference at all looks at once.
    """

    pairs: int
    mean: float
    low: float
    high: float
    p: float  # paired t-test, two-sided
    adjusted_p: float  # Holm over the arms, and over the looks where there are several
    effect: float  # mean difference / deviation of the differences (d_z), with Hedges' correction
    margin: float
    equivalence_p: float  # two one-sided tests against the margin, corrected likewise
    word: str  # one of WORDS
    more_seeds: int | None  # where undecided: about so many more would settle it (None: cannot be said)
    smallest: float  # the smallest difference this many pairs would find with a power of 80 %
    sentence: str  # "rotary is better than learned by 0.12 (95 % interval 0.08 to 0.16)" ...


def summarise(values: Sequence[float], alpha: float = 0.05) -> Summary:
    """The mean of one arm's seeds that came through, with its interval; of one seed, deviation and interval are NaN."""
    finite = np.array([value for value in values if math.isfinite(value)])
    if not len(finite):
        raise DataError(
            "all-diverged", f"none of {len(values)} seeds has a finite value to summarise; look at why they diverged"
        )
    if len(finite) == 1:
        return Summary(1, float(finite[0]), NAN, NAN, NAN)
    mean, deviation = statistics.moments(finite)
    half = statistics.half_width(deviation, len(finite), alpha)
    return Summary(len(finite), float(mean), float(deviation), float(mean - half), float(mean + half))


def judge(values: Mapping[str, Mapping[int, float]], rule: VerdictRule) -> dict[str, Difference]:
    """Arm -> difference from the first arm; values: arm -> seed -> metric. NaN means diverged."""
    names = list(values)
    if len(names) < 2:
        return {}
    margin = _Margin(values[names[0]], rule)
    return _judged([_Pairs(name, names[0], values[name], values[names[0]], margin, rule) for name in names[1:]])


def judge_family(pairs: Mapping[str, tuple[BySeed, BySeed]], rule: VerdictRule) -> dict[str, Difference]:
    """Question -> difference of the second from the first of its pair, each seed -> metric, corrected over all questions.

    A side that diverged in every seed loses to one that did not.
    """
    return _judged(
        [
            _Pairs(name, "the first", second, first, _Margin(first, rule), rule, divergence_decides=True)
            for name, (first, second) in pairs.items()
        ]
    )


def _judged(arms: Sequence["_Pairs"]) -> dict[str, Difference]:
    if not arms:
        return {}
    # An arm without a p-value keeps its place in the correction: it may get one with the next seeds.
    raw = np.array([arm.p_over_looks() for arm in arms])
    different, equivalent = statistics.corrected(*np.where(np.isnan(raw), 1.0, raw).T)
    return {arm.name: arm.difference(len(arms), float(different[i]), float(equivalent[i])) for i, arm in enumerate(arms)}


class _Margin:
    """The margin of a study: given, or estimated from the seeds of the first arm, with the certainty of that estimate."""

    def __init__(self, first: Mapping[int, float], rule: VerdictRule) -> None:
        seeds = [seed for seed in sorted(first) if math.isfinite(first[seed])]
        self.value = NAN if rule.margin is None else rule.margin
        self.degrees: float | None = None
        self.pull: dict[int, float] = dict.fromkeys(seeds, 0.0)
        if rule.margin is None and len(seeds) > 1:
            deviation, degrees, pull = statistics.spread([first[seed] for seed in seeds])
            self.value, self.degrees = rule.spread * float(deviation), float(degrees)
            self.pull = dict(zip(seeds, map(float, pull), strict=True))


class _Pairs:
    """One arm beside the first, by the seeds that came through in both."""

    def __init__(
        self,
        name: str,
        first: str,
        own: BySeed,
        other: BySeed,
        margin: _Margin,
        rule: VerdictRule,
        divergence_decides: bool = False,
    ) -> None:
        self.name, self.first, self.margin, self.rule = name, first, margin, rule
        common = sorted(own.keys() & other.keys())
        self.diverged = {
            arm: [seed for seed in common if not math.isfinite(table[seed])] for arm, table in ((name, own), (first, other))
        }
        self.fate = _fate(own, other) if divergence_decides else ""
        self.seeds = [seed for seed in common if math.isfinite(own[seed]) and math.isfinite(other[seed])]
        # Seeds that diverged were looked at as well: the look goes by all that were trained.
        self.looks = sequential_tests.with_look(rule.looks, len(common)) if rule.looks else (len(common),)
        self.trained = len(common)
        differences = _exact([own[seed] for seed in self.seeds], [other[seed] for seed in self.seeds])
        self.mean = self.deviation = self.p = self.equivalence_p = NAN
        self.pairs = len(differences)
        if self.pairs > 1:
            self.mean, self.deviation = map(float, statistics.moments(differences))
            self.p = float(statistics.difference_p(self.mean, self.deviation, self.pairs))
            together = statistics.correlation(differences, [margin.pull[seed] for seed in self.seeds])
            sample = (self.mean, self.deviation, self.pairs)
            self.equivalence_p = float(statistics.equivalence_p(*sample, margin.value, margin.degrees, together))
        elif self.pairs:
            self.mean = float(differences[0])

    def p_over_looks(self) -> tuple[float, float]:
        """Both p-values, for what they are worth after all looks."""
        if self.pairs < 2:
            return NAN, NAN
        return (
            float(sequential_tests.over_looks(self.p, self.looks, self.trained)),
            float(sequential_tests.over_looks(self.equivalence_p, self.looks, self.trained, two_sided=False)),
        )

    def difference(self, arms: int, adjusted_p: float, equivalence_p: float) -> Difference:
        """All that is said of this arm, given its corrected p-values."""
        rule, margin = self.rule, self.margin.value
        if self.fate:
            sentence = f"{self.name} is {self.fate} than {self.first}: one of them diverged in every seed"
            return Difference(self.pairs, NAN, NAN, NAN, NAN, 0.0, NAN, margin, NAN, self.fate, None, NAN, sentence)
        if self.pairs < 2:
            sentence = self._too_few() + self._left_out()
            nothing = (NAN, NAN, NAN, NAN, NAN, margin, NAN, "undecided", None, NAN)
            return Difference(self.pairs, self.mean, *nothing, sentence)
        half = float(statistics.half_width(self.deviation, self.pairs, self._level(rule.alpha, self.trained)))
        word = "undecided"
        if adjusted_p <= rule.alpha:
            word = "better" if (self.mean > 0) == rule.higher_is_better else "worse"
        elif equivalence_p <= rule.alpha:
            word = "no difference"
        share = rule.alpha / arms
        more = self._more_seeds(share) if word == "undecided" else None
        corrected = arms > 1 or len(self.looks) > 1
        return Difference(
            pairs=self.pairs,
            mean=self.mean,
            low=self.mean - half,
            high=self.mean + half,
            p=self.p,
            adjusted_p=adjusted_p,
            effect=statistics.effect(self.mean, self.deviation, self.pairs),
            margin=margin,
            equivalence_p=equivalence_p,
            word=word,
            more_seeds=more,
            smallest=statistics.smallest_found(self.deviation, self.pairs, self._level(share, self.trained)),
            sentence=self._sentence(word, half, adjusted_p, equivalence_p, more, corrected) + self._left_out(),
        )

    def _level(self, level: float, seeds: int, two_sided: bool = True) -> float:
        return sequential_tests.nominal(level, self.looks, seeds, two_sided)

    def _more_seeds(self, share: float) -> int | None:
        """How many more would give one of the two tests a power of 80 %, were the truth what has been observed."""

        def power(seeds: int) -> float:
            different = statistics.difference_power(self.mean / self.deviation, seeds, self._level(share, seeds))
            if not self.margin.value > 0:
                return different
            level = self._level(share, seeds, two_sided=False)
            sample = (self.mean, self.deviation, seeds, self.margin.value)
            return max(different, statistics.equivalence_power(*sample, level, self.margin.degrees is not None))

        needed = statistics.seeds_needed(power, self.pairs)
        return None if needed is None else needed - self.pairs

    def _sentence(
        self, word: str, half: float, adjusted_p: float, equivalence_p: float, more: int | None, corrected: bool
    ) -> str:
        sign = -1 if word in ("better", "worse") and self.mean < 0 else 1
        low, size, high = (rounded(sign * self.mean + step, half) for step in (-half, 0.0, half))
        interval = f"{100 * (1 - self.rule.alpha):.4g} % interval {low} to {high}"
        chance = _chance(equivalence_p if word == "no difference" else adjusted_p, corrected)
        margin = rounded(self.margin.value, self.margin.value) if self.rule.margin is None else f"{self.rule.margin:.3g}"
        if word == "undecided":
            seeds = f"about {more:,} more {'seed' if more == 1 else 'seeds'}" if more else f"{statistics.MOST_SEEDS:,} seeds"
            settle = "would settle it" if more else "would not settle it"
            against = f"{self.name} is undecided against {self.first}"
            return f"{against}: the difference is {size} ({interval}; {chance}), {seeds} {settle}"
        if word == "no difference":
            if self.deviation == 0 and self.mean == 0:
                return f"{self.name}: no difference from {self.first} at all, the same value in each of {self.pairs} seeds"
            deviations = "one deviation" if self.rule.spread == 1 else f"{self.rule.spread:g} deviations"
            source = f"{deviations} between its seeds; " if self.rule.margin is None else ""
            inner = f"{source}the difference is {size}, {interval}; {chance}"
            return f"{self.name}: no difference from {self.first} larger than {margin} ({inner})"
        though = f", which is less than the margin of {margin}" if equivalence_p <= self.rule.alpha else ""
        return f"{self.name} is {word} than {self.first} by {size} ({interval}; {chance}){though}"

    def _too_few(self) -> str:
        came = "only one seed came" if self.pairs else "no seed came"
        return f"{self.name} is undecided against {self.first}: {came} through in both, and a paired test needs 2"

    def _left_out(self) -> str:
        lists = [
            f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))} of {arm}"
            for arm, seeds in self.diverged.items()
            if seeds
        ]
        return f"; left out because they diverged: {', '.join(lists)}" if lists else ""


def _fate(own: BySeed, other: BySeed) -> str:
    """Who wins because the other diverged in every seed; empty where both did, or neither."""
    lives = [any(map(math.isfinite, side.values())) for side in (own, other)]
    if not own or not other or lives[0] == lives[1]:
        return ""
    return "better" if lives[0] else "worse"


def _exact(own: Sequence[float], other: Sequence[float]) -> np.ndarray:
    """The differences, without what is rounding alone: arms that are equal, or apart by a constant, do not vary."""
    left, right = np.array(own, dtype=float), np.array(other, dtype=float)
    rounding = 4 * np.finfo(float).eps * max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0))
    differences = np.where(np.abs(left - right) <= rounding, 0.0, left - right)
    return np.full_like(differences, differences[0]) if len(left) and np.ptp(differences) <= rounding else differences


def _chance(p: float, corrected: bool) -> str:
    return f"{'corrected p' if corrected else 'p'} {f'= {p:.2g}' if p >= 0.0001 else '< 0.0001'}"
