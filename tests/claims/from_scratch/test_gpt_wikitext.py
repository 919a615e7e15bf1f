"""The claim gpt-wikitext: its rule on made-up numbers."""

import numpy as np

from glasshouse.claims.claim import REFUTED, UNDECIDED, UPHELD
from glasshouse.claims.from_scratch import gpt_wikitext
from tests.claims.example_values import COARSE_NOISE


def test_fluency_has_three_parts():
    bits, same, different = [1.35, 1.36, 1.34], np.zeros(20), np.full(20, 0.2)
    noise = np.array(COARSE_NOISE + COARSE_NOISE)
    assert gpt_wikitext.decide(bits, 1.54, noise, noise) == UPHELD
    assert gpt_wikitext.decide(bits, 1.30, noise, noise) == REFUTED
    assert gpt_wikitext.decide(bits, 1.54, -different, same) == REFUTED
    assert gpt_wikitext.decide(bits, 1.54, same, different) == REFUTED
    assert gpt_wikitext.decide([1.35, 1.75], 1.54, same, same) == UNDECIDED
