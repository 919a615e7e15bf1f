"""The measures of passages: known, repeated, copied and kept words."""

import pytest

from glasshouse.claims.from_scratch import passages


def test_passages_are_measured_in_words():
    assert passages.repeated_share([*"abcdabcd"]) == pytest.approx(1 / 5)
    assert passages.repeated_share([*"ab"]) == 0
    measure = passages.PassageMeasure(["a b c d e f g h i j"])
    shares = measure.shares(["zebra"], ["cut a b c d e f g h unknown zebra cut"])
    assert shares["known"] == [0.8]
    assert shares["copied"] == [pytest.approx(1 / 3)]
    assert shares["kept"] == [0.5]  # of the two rarer words in the second half, one is in the prompt
