"""The claim frozen-head: its rule on made-up accuracies and times."""

from glasshouse.claims.claim import REFUTED, UPHELD
from glasshouse.claims.pretraining import frozen_head
from tests.claims.example_values import spread_values


def test_a_frozen_encoder_must_be_less_accurate_and_faster():
    worse = frozen_head.against_full(spread_values(0.93), "frozen", spread_values(0.86, shift=3))
    better = frozen_head.against_full(spread_values(0.86), "frozen", spread_values(0.93, shift=3))
    slow, fast = [0.07, 0.071, 0.069, 0.07], [0.03, 0.031, 0.03, 0.029]
    assert frozen_head.decide(worse, frozen_head.compare_times(slow, fast)) == UPHELD
    assert frozen_head.decide(worse, frozen_head.compare_times(fast, slow)) == REFUTED
    assert frozen_head.decide(better, frozen_head.compare_times(slow, fast)) == REFUTED
