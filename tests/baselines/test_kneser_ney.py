"""N-gram models with Kneser-Ney smoothing: proper distributions, longer contexts predict better, samples follow them."""

import math

import numpy as np
import pytest

from glasshouse.baselines.kneser_ney import NGramModel


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_probabilities_of_all_tokens_sum_to_one(order):
    generator = np.random.default_rng(order)
    model = NGramModel(generator.integers(0, 5, 400) * generator.integers(0, 2, 400), 7, order)
    for context in ([0, 0], [3, 1], [6, 6]):  # 6 is in the vocabulary but not in the learned text
        texts = [np.array([*context, token]) for token in range(7)]
        assert sum(math.exp(-model.nats(text)[-1]) for text in texts) == pytest.approx(1)


def test_longer_ngrams_learn_a_pattern_that_shorter_ones_cannot():
    text = np.tile([1, 2, 1, 3], 100)  # the token after 1 depends on the token before it
    means = {order: NGramModel(text, 5, order).nats(text).mean() for order in (1, 2, 3)}
    assert means[3] < 0.1 < means[2] < means[1]


def test_samples_have_the_probabilities_of_the_model():
    generator = np.random.default_rng(0)
    model = NGramModel(generator.integers(0, 4, 60), 5, 3)
    for prompt in ([1, 2], [4, 4]):  # the second context does not occur
        drawn = [model.sample(prompt, 1, generator)[0] for _ in range(4000)]
        probabilities = np.exp([-model.nats(np.array([*prompt, token]))[-1] for token in range(5)])
        shares = np.bincount(drawn, minlength=5) / len(drawn)
        assert np.abs(shares - probabilities).max() < 0.04  # five standard errors


def test_the_end_token_ends_a_sample():
    model = NGramModel(np.tile([1, 2, 3], 50), 5, 3)
    generator = np.random.default_rng(0)
    samples = [model.sample([1, 2], 30, generator, end_token=3) for _ in range(20)]
    assert not any(3 in sample for sample in samples)
    assert [] in samples
    assert all(len(model.sample([1, 2], 30, generator)) == 30 for _ in range(5))


def test_ngrams_that_cannot_be_numbered_are_refused():
    with pytest.raises(ValueError, match="64 bits"):
        NGramModel(np.array([1, 2, 3]), 2**16, 4)
