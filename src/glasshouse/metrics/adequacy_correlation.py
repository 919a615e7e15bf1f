"""The correlation of sentence scores with adequacy, the share of the meaning that a text keeps. Pure functions of arrays.

There are three statistics: Pearson's correlation, Spearman's rank correlation, and `area`, the area under the ROC curve. The
area is the probability that a fully adequate text scores above one that is not (1/2 is chance, ties count half).
Correlations measure degrees of adequacy; the area measures only the separation of fully adequate texts from the others.

Several texts may belong to one source sentence, so they are not independent. The confidence intervals are therefore
bootstrapped over sources.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

# The level of the two-sided confidence intervals.
LEVEL = 0.95
# Bootstrap resamples.
DRAWS = 200
SEED = 0


@dataclass(frozen=True)
class CorrelationEstimate:
    """A statistic and its confidence interval."""

    value: float
    low: float
    high: float


def correlations(
    scores: Mapping[str, np.ndarray], adequacy: np.ndarray, sources: np.ndarray | None = None, draws: int = DRAWS
) -> dict[str, dict[str, CorrelationEstimate]]:
    """Name of a score -> statistic -> estimate. `sources` is the source number of each text; by default all differ.

    A statistic that is not defined is left out: all three if the scores or the adequacies are constant, and `area` if all
    texts or none are fully adequate.
    """
    adequacy = np.asarray(adequacy, float)
    resamples = _resamples(np.arange(len(adequacy)) if sources is None else np.asarray(sources), draws)
    estimates: dict[str, dict[str, CorrelationEstimate]] = {}
    for name, values in scores.items():
        values = np.asarray(values, float)
        bootstrap = [_statistics(values[index], adequacy[index]) for index in resamples]
        estimates[name] = {
            statistic: CorrelationEstimate(value, *_interval([draw[statistic] for draw in bootstrap if statistic in draw]))
            for statistic, value in _statistics(values, adequacy).items()
        }
    return estimates


def _statistics(values: np.ndarray, adequacy: np.ndarray) -> dict[str, float]:
    if len(values) < 2 or np.ptp(values) == 0 or np.ptp(adequacy) == 0:
        return {}
    from scipy import stats  # takes a second

    ranks = stats.rankdata(values)
    pairs = {"pearson": (values, adequacy), "spearman": (ranks, stats.rankdata(adequacy))}
    statistics = {name: float(np.corrcoef(*pair)[0, 1]) for name, pair in pairs.items()}
    adequate = adequacy >= 1
    if 0 < (count := int(adequate.sum())) < len(adequate):
        # The Mann-Whitney U statistic, from the rank sum, divided by the number of pairs.
        statistics["area"] = float((ranks[adequate].sum() - count * (count + 1) / 2) / (count * (len(adequate) - count)))
    return statistics


def _resamples(sources: np.ndarray, draws: int) -> list[np.ndarray]:
    """Bootstrap resamples: indices of the texts of as many sources as there are, drawn with replacement."""
    order = np.argsort(sources, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(sources[order])) + 1)
    generator = np.random.default_rng(SEED)
    return [np.concatenate([members[i] for i in generator.integers(0, len(members), len(members))]) for _ in range(draws)]


def _interval(values: list[float]) -> tuple[float, float]:
    """The bootstrap percentile interval, from the resamples in which the statistic is defined; (-1, 1) if there are none."""
    if not values:
        return -1.0, 1.0
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
