"""Verdicts: is an arm better than the first one, worse, not different, or is that undecided?

Pure functions of numbers, which need numpy and scipy and nothing else of Glasshouse. The arms were measured with the same
seeds, folds, subjects or questions, so that their values are pairs:

    >>> from glasshouse.verdicts import VerdictRule, judge
    >>> losses = {
    ...     "learned": {0: 3.41, 1: 3.44, 2: 3.39, 3: 3.42},
    ...     "rotary": {0: 3.30, 1: 3.35, 2: 3.29, 3: 3.33},
    ... }
    >>> judge(losses, VerdictRule(margin=0.02))["rotary"].sentence
    'rotary is better than learned by 0.098 (95 % interval 0.083 to 0.115; p = 0.00021)'

`docs/verdicts.md` explains the method and has its error rates.
"""

from glasshouse.verdicts.verdict import (
    BETTER,
    NO_DIFFERENCE,
    UNDECIDED,
    WORDS,
    WORSE,
    Difference,
    ItemScores,
    Summary,
    VerdictRule,
    judge,
    judge_pairs,
    summarise,
)
