"""The claim bpe: its rule, and the counts of changed texts and unknown tokens."""

import pytest

from glasshouse.claims.claim import REFUTED, UNDECIDED, UPHELD
from glasshouse.claims.from_scratch import bpe
from glasshouse.claims.translation import nmt
from glasshouse.tokenizers.words import Words
from tests.claims.example_values import spread_values


def test_decoding_must_return_every_text():
    worse = nmt.benefit(spread_values(0.5), spread_values(0.6, shift=3))
    assert bpe.decide(0, 0, worse) == UPHELD
    assert bpe.decide(0, None, worse) == UPHELD  # the package tokenizers is not installed
    assert bpe.decide(1, 0, worse) == REFUTED
    assert bpe.decide(0, 2, worse) == REFUTED
    assert bpe.decide(0, 0, None) == UNDECIDED
    texts = list(bpe.random_texts(20))
    assert texts == list(bpe.random_texts(20))
    words = Words.train(["a few words"], 16)
    assert bpe.count_changed_texts(words, ["a few", "words  apart", *texts[:5]]) >= 1
    assert bpe.unknown_share(words, ["a few others"]) == pytest.approx(1 / 3)
