"""How well scores of single texts follow the share of meaning that they are known to keep. Pure functions of arrays.

Three statistics: Pearson's correlation, Spearman's of ranks, and the area, which is how often a text that keeps all scores
above one that does not (1/2 is chance, ties count half): correlations ask for shades, the area for yes and no alone.

Several texts may belong to one source sentence and be alike; an interval therefore comes from drawing whole sources anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

# Two-sided 95 % intervals.
LEVEL = 0.95
DRAWS = 200
SEED = 0


@dataclass(frozen=True)
class Estimate:
    """A statistic of some texts, and its interval."""

    value: float
    low: float
    high: float


def agreement(
    scores: Mapping[str, np.ndarray], adequacy: np.ndarray, sources: np.ndarray | None = None, draws: int = DRAWS
) -> dict[str, dict[str, Estimate]]:
    """Score -> statistic -> estimate; `sources` numbers the source that each text belongs to (else each has its own).

    Adequacy is the share of meaning that a text keeps. What cannot be told is left out: every statistic where all scores are
    equal, or all adequacies, and the area where no text keeps everything.
    """
    adequacy = np.asarray(adequacy, float)
    drawn = _resamples(np.arange(len(adequacy)) if sources is None else np.asarray(sources), draws)
    found: dict[str, dict[str, Estimate]] = {}
    for name, values in scores.items():
        values = np.asarray(values, float)
        if len(values) != len(adequacy):
            raise ValueError(f"{name} has {len(values)} scores for {len(adequacy)} texts")
        again = [_statistics(values[index], adequacy[index]) for index in drawn]
        found[name] = {
            statistic: Estimate(value, *_interval([each[statistic] for each in again if statistic in each]))
            for statistic, value in _statistics(values, adequacy).items()
        }
    return found


def _statistics(values: np.ndarray, adequacy: np.ndarray) -> dict[str, float]:
    if len(values) < 2 or np.ptp(values) == 0 or np.ptp(adequacy) == 0:
        return {}
    ranks = stats.rankdata(values)
    found = {"pearson": _correlation(values, adequacy), "spearman": _correlation(ranks, stats.rankdata(adequacy))}
    whole = adequacy >= 1
    if 0 < (count := int(whole.sum())) < len(whole):
        # Mann and Whitney's count of pairs in which the whole one is above, from the sum of its ranks.
        found["area"] = float((ranks[whole].sum() - count * (count + 1) / 2) / (count * (len(whole) - count)))
    return found


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def _resamples(sources: np.ndarray, draws: int) -> list[np.ndarray]:
    """For each draw, the texts of as many sources as there are, drawn with replacement."""
    order = np.argsort(sources, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(sources[order])) + 1)
    chance = np.random.default_rng(SEED)
    return [np.concatenate([members[i] for i in chance.integers(0, len(members), len(members))]) for _ in range(draws)]


def _interval(values: list[float]) -> tuple[float, float]:
    """The percentiles over the draws in which there is such a statistic; without any, all is possible."""
    if not values:
        return -1.0, 1.0
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
