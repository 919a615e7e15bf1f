"""The claim pretraining-domain: its rule on made-up accuracies, and means and gains as text."""

import math

import pytest

from glasshouse.claims import rules
from glasshouse.claims.claim import REFUTED, UNDECIDED, UPHELD
from glasshouse.claims.pretraining import pretraining_domain


def test_texts_are_compared_in_pairs_of_pretrainings():
    high, low = {0: 0.93, 1: 0.92, 2: 0.94, 3: 0.93}, {0: 0.86, 1: 0.87, 2: 0.88, 3: 0.85}
    assert rules.direction(pretraining_domain.tweets_against_arithmetic(high, low), "worse") == UPHELD
    assert rules.direction(pretraining_domain.tweets_against_arithmetic(low, high), "worse") == REFUTED
    assert rules.direction(pretraining_domain.tweets_against_arithmetic({0: 0.93}, {0: 0.86}), "worse") == UNDECIDED
    assert pretraining_domain.mean({0: 0.5, 1: math.nan, 2: 0.7}) == pytest.approx(0.6)
    assert pretraining_domain.format_gain({0: 0.9, 1: 0.9}, {0: 0.8, 1: 0.8}).startswith("+10.0")
