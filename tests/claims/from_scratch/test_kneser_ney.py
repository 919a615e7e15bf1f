"""N-gram models with Kneser-Ney smoothing: proper distributions, and longer contexts predict better."""

import math

import numpy as np
import pytest

from glasshouse.claims.from_scratch import kneser_ney


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_probabilities_of_all_tokens_sum_to_one(order):
    generator = np.random.default_rng(order)
    learned = generator.integers(0, 5, 400) * generator.integers(0, 2, 400)
    for context in ([0, 0], [3, 1], [6, 6]):  # 6 is in the vocabulary but not in the learned text
        texts = [np.array([*context, token]) for token in range(7)]
        assert sum(math.exp(-kneser_ney.nats(learned, text, 7, order)[-1]) for text in texts) == pytest.approx(1)


def test_longer_ngrams_learn_a_pattern_that_shorter_ones_cannot():
    text = np.tile([1, 2, 1, 3], 100)  # the token after 1 depends on the token before it
    means = {order: kneser_ney.nats(text, text, 5, order).mean() for order in (1, 2, 3)}
    assert means[3] < 0.1 < means[2] < means[1]
