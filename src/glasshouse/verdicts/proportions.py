"""Proportions of few items, such as the share of questions that a model answers: intervals, and what a test of them needs.

A t interval of zeros and ones is too short at the ends: three right answers of three would give 100 % with no error at all.
So these intervals are those of a binomial distribution (Clopper and Pearson, 1934). Answers to one question are not
independent; they count as so many as have the same variance (Korn and Graubard, 1998).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from glasshouse.verdicts.estimates import from_units

# With more pairs, all signs are not tried; the paired t-test is then close.
MOST_FLIPPED = 14


@dataclass(frozen=True)
class Proportion:
    """A share with its confidence interval. `effective` is the number of independent trials that would be as certain."""

    share: float
    low: float
    high: float
    effective: float


def binomial_interval(share: float, trials: float, level: float = 0.05) -> tuple[float, float]:
    """The interval of Clopper and Pearson with coverage of at least 1 - `level`; trials need not be a whole number."""
    hits = share * trials
    low = 0.0 if hits <= 0 else float(scipy.special.betaincinv(hits, trials - hits + 1, level / 2))
    high = 1.0 if hits >= trials else float(scipy.special.betaincinv(hits + 1, trials - hits, 1 - level / 2))
    return low, high


def from_questions(shares: Sequence[float], trials: int, level: float = 0.05) -> Proportion:
    """The mean share over questions, for questions like these. `trials` is the number of trials that a share comes from."""
    estimate, questions = from_units(shares), len(shares)
    share = min(max(estimate.mean, 0.0), 1.0)
    variance, most = share * (1 - share), float(questions * trials)
    if questions == 1:
        effective = most
    elif variance == 0:
        effective = float(questions)  # equal answers to a question may all come from that question
    else:
        effective = min(variance / estimate.error**2, most) if estimate.error > 0 else most
        # The variance of few questions is uncertain, as in a t-test.
        wider, narrower = (
            float(scipy.special.stdtrit(free, 1 - level / 2)) for free in (questions - 1, max(effective - 1, 1.0))
        )
        effective *= min(narrower / wider, 1.0) ** 2
        # But a share between 0 and 1 never varies more than one trial does.
        effective = max(effective, float(questions))
    return Proportion(share, *binomial_interval(share, effective, level), effective)


def sign_flip_p(differences: Sequence[float]) -> float:
    """The exact two-sided p-value of paired differences: the share of all signs with as large a sum.

    n pairs can give no less than 2 / 2^n. Above `MOST_FLIPPED` pairs that are not 0 it is given as 0.
    """
    values = np.asarray([value for value in differences if value], dtype=float)
    if not len(values):
        return 1.0
    if len(values) > MOST_FLIPPED:
        return 0.0
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(values))))
    return float((np.abs(signs @ values) >= abs(values.sum()) - 1e-12).mean())


def largest_unseen_share(trials: int, level: float = 0.05) -> float:
    """The largest share that may still be 0 of so many trials: about 3 / n."""
    return 1 - math.pow(level, 1 / trials)
