"""Perplexity and bits per byte."""

import math

import pytest

from glasshouse.metrics.perplexity import bits_per_byte, perplexity


def test_equally_likely_tokens_have_their_number_as_perplexity():
    assert perplexity(math.log(50)) == pytest.approx(50)
    assert bits_per_byte(10 * math.log(50), 20) == pytest.approx(math.log2(50) / 2)


@pytest.mark.parametrize("loss", [1e4, math.inf])
def test_a_huge_loss_has_a_finite_perplexity(loss):
    assert math.isfinite(perplexity(loss))
