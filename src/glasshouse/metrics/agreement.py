"""How well scores of single texts follow what is known of them: correlations. Pure functions of arrays.

Several texts may belong to one source sentence and be alike; an interval therefore comes from drawing whole sources anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

# Two-sided 95 % intervals.
LEVEL = 0.95
DRAWS = 200
SEED = 0


@dataclass(frozen=True)
class Agreement:
    """Correlation of one score with the truth: linear, of ranks, and the interval of each."""

    pearson: float
    spearman: float
    pearson_interval: tuple[float, float]
    spearman_interval: tuple[float, float]


def agreement(
    scores: Mapping[str, np.ndarray], truth: np.ndarray, sources: np.ndarray | None = None, draws: int = DRAWS
) -> dict[str, Agreement]:
    """Of each score with the truth; `sources` numbers the source that each text belongs to (else each is its own).

    A score that is the same for every text, or a truth that is, has no correlation, and is left out.
    """
    truth = np.asarray(truth, float)
    if len(truth) < 2 or np.ptp(truth) == 0:
        return {}
    drawn = _resamples(np.arange(len(truth)) if sources is None else np.asarray(sources), draws)
    found = {}
    for name, values in scores.items():
        values = np.asarray(values, float)
        if len(values) != len(truth):
            raise ValueError(f"{name} has {len(values)} scores for {len(truth)} texts")
        if np.ptp(values) == 0:
            continue
        figures = [(measure(values, truth), _interval(measure, values, truth, drawn)) for measure in (_pearson, _spearman)]
        (pearson, of_pearson), (spearman, of_spearman) = figures
        found[name] = Agreement(pearson, spearman, of_pearson, of_spearman)
    return found


def _pearson(values: np.ndarray, truth: np.ndarray) -> float:
    return float(np.corrcoef(values, truth)[0, 1])


def _spearman(values: np.ndarray, truth: np.ndarray) -> float:
    return _pearson(stats.rankdata(values), stats.rankdata(truth))


def _resamples(sources: np.ndarray, draws: int) -> list[np.ndarray]:
    """For each draw, the texts of as many sources as there are, drawn with replacement."""
    order = np.argsort(sources, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(sources[order])) + 1)
    chance = np.random.default_rng(SEED)
    return [np.concatenate([members[i] for i in chance.integers(0, len(members), len(members))]) for _ in range(draws)]


def _interval(
    measure: Callable[[np.ndarray, np.ndarray], float], values: np.ndarray, truth: np.ndarray, drawn: list[np.ndarray]
) -> tuple[float, float]:
    """The percentiles of a correlation over the draws in which there is one; without any, all is possible."""
    found = [measure(values[index], truth[index]) for index in drawn if np.ptp(values[index]) and np.ptp(truth[index])]
    if not found:
        return -1.0, 1.0
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
