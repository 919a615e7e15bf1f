"""Series for control claims: shifted units and planted effects."""

import pytest

from glasshouse.claims import control_series
from glasshouse.claims.claim import Series

WITH_ITEMS = Series({500: 0.5, 501: 0.25}, {500: (1.0, 0.0), 501: (0.5, 0.0)})


def test_units_are_shifted_with_their_items():
    shifted = control_series.shift_units(WITH_ITEMS, -500)
    assert shifted == Series({0: 0.5, 1: 0.25}, {0: (1.0, 0.0), 1: (0.5, 0.0)})
    assert control_series.shift_units(Series({0: 1.0}), 3) == Series({3: 1.0})


def test_an_effect_is_added_to_every_value_and_every_item():
    planted = control_series.plant(WITH_ITEMS, 0.25)
    assert planted == Series({500: 0.75, 501: 0.5}, {500: (1.25, 0.25), 501: (0.75, 0.25)})
    assert sum(planted.items[500]) / 2 == pytest.approx(planted.values[500])
    assert control_series.plant(Series({0: 1.0}), 1.0) == Series({0: 2.0})
