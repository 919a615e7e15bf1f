"""The choice of the initial scale on the validation text."""

import math

from glasshouse.claims.attention.initialisation_choice import choose_scale
from glasshouse.claims.claim import Series
from tests.claims.example_values import DIVERGED, close_values


def test_the_scale_with_the_lower_validation_loss_is_chosen():
    high, low = Series(close_values(1.7)), Series(close_values(1.6))
    assert choose_scale({"0.5": high, "1.0": low}) == "1.0"
    assert choose_scale({"0.5": high, "1.0": Series({**low.values, 3: math.nan})}) == "0.5", "one seed diverged"
    assert choose_scale({"0.5": Series(DIVERGED), "1.0": low}) == "1.0"
