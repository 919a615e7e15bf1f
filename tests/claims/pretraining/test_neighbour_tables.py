"""Tables of neighbouring tokens: what they predict, and what copying adds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.claims.pretraining import neighbour_tables
from glasshouse.claims.pretraining.neighbour_tables import BOTH, LEFT, NO_NEIGHBOUR


def test_tables_are_counted_in_one_text_and_scored_on_another():
    # 9 separates. After 1 comes 2 twice and 3 once; between 1 and 4 stands 3.
    training = [9, 1, 2, 5, 9, 1, 2, 6, 9, 1, 3, 4, 9, 2, 2, 9]
    shares = neighbour_tables.accuracies(training, [9, 1, 3, 4, 9, 1, 2, 7, 9], {9})
    # The commonest token, 2, stands in one of six places.
    assert shares[NO_NEIGHBOUR] == pytest.approx(1 / 6)
    # After a separator comes 1 (twice right), after 1 comes 2 (right once of two), after 3 comes 4, after 2 not 7.
    assert shares[LEFT] == pytest.approx(4 / 6)
    # Between 1 and 4 stands 3. Between 1 and 7 stood nothing, so the smaller table answers.
    assert shares[BOTH] == pytest.approx(5 / 6)
    assert all(map(math.isnan, neighbour_tables.accuracies(training, [9], {9}).values()))


@given(st.lists(st.integers(0, 4), min_size=3, max_size=40))
def test_a_larger_table_is_at_least_as_good_on_the_text_that_it_was_counted_in(tokens):
    shares = neighbour_tables.accuracies(tokens, tokens, set())
    assert shares[NO_NEIGHBOUR] <= shares[LEFT] + 1e-12
    assert shares[LEFT] <= shares[BOTH] + 1e-12


def test_copying_helps_an_opponent_that_is_right_less_than_half_of_the_time():
    assert neighbour_tables.with_copying(0.0) == pytest.approx(0.1)
    assert neighbour_tables.with_copying(0.25) == pytest.approx(0.3)
    assert neighbour_tables.with_copying(0.75) == 0.75
