"""The values of a trial as JSON: read back as stored, whatever they are."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from glasshouse.claims import trial_values
from glasshouse.results.claim import Measured, Series
from glasshouse.specs.errors import DataError
from tests.refusals import refused

numbers = st.floats(allow_infinity=True, allow_nan=True)
tables = st.dictionaries(st.integers(0, 5000), numbers, max_size=5)
rows = st.lists(st.sampled_from([0.0, 1.0]), max_size=6) | st.lists(st.floats(-9, 9), max_size=6)


@given(st.dictionaries(st.text(min_size=1, max_size=5), tables, max_size=4), st.lists(rows, max_size=3))
def test_values_are_read_back_as_they_are_judged(series, items):
    with_items = Series({0: 1.0}, {unit: tuple(row) for unit, row in enumerate(items)})
    measured = Measured({**{key: Series(table) for key, table in series.items()}, "items": with_items}, 3)
    stored = trial_values.stored(measured)
    again = trial_values.from_json(json.loads(json.dumps(trial_values.to_json(stored))), "here")
    # NaN is not equal to itself, so the texts are compared.
    assert repr(again) == repr(stored)
    for key, table in series.items():
        for unit, value in table.items():
            kept = stored.series[key].values[unit]
            assert math.isnan(kept) if not math.isfinite(value) else math.isclose(kept, value, rel_tol=1e-8, abs_tol=1e-300)


def test_binary_items_are_one_string_of_digits():
    table = trial_values.to_json(Measured({"a": Series({0: 0.5}, {0: (0.0, 1.0)})}, 1))
    assert table["series"]["a"]["binary_items"] == {"0": "01"}
    table = trial_values.to_json(Measured({"a": Series({0: 0.75}, {0: (0.5, 1.0)})}, 1))
    assert table["series"]["a"]["items"] == {"0": "0.5 1"}


def test_what_is_not_a_table_of_values_is_refused():
    for broken in ({}, {"series": 3}, {"series": {"a": {"values": {"x": 1}}}}):
        with refused(DataError, "here"):
            trial_values.from_json(broken, "here")
