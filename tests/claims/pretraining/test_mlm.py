"""The claim mlm: its rule on made-up accuracies, and the baselines."""

import numpy as np
import pytest

from glasshouse.claims.claim import REFUTED, UNDECIDED, UPHELD
from glasshouse.claims.pretraining import mlm
from tests.claims.example_values import spread_values


def test_masked_pretraining_must_beat_both_baselines_and_help_the_later_task():
    gain = mlm.pretraining_gain(spread_values(0.88), spread_values(0.93, shift=3))
    no_gain = mlm.pretraining_gain(spread_values(0.88, 3), spread_values(0.88, 3))
    assert mlm.decide(spread_values(0.7), 0.1, 0.4, gain) == UPHELD
    assert mlm.decide(spread_values(0.7), 0.1, 0.4, no_gain) == REFUTED
    assert mlm.decide(spread_values(0.3), 0.1, 0.4, gain) == REFUTED  # the bigram baseline is better
    assert mlm.decide(spread_values(0.7), 0.36, 0.4, gain) == REFUTED  # less than twice the unigram baseline
    assert mlm.decide({0: 0.7}, 0.1, 0.4, gain) == UNDECIDED


def test_baselines_are_learned_from_one_text_and_scored_on_another():
    learned = np.array([1, 1, 2, 1, 1, 2, 1, 1, 2])
    assert mlm.unigram_accuracy(learned, np.array([1, 2, 2, 2])) == 0.25
    # 2 is always followed by 1. 1 is followed equally often by 1 and by 2; the lower number is predicted.
    assert mlm.bigram_accuracy(learned, np.array([2, 1, 2, 2])) == pytest.approx(1 / 3)
    assert mlm.mean_over_arms([{0: 1.0, 1: 3.0}, {0: 2.0}]) == {0: 1.5}
