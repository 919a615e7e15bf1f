"""The trivial opponents: the commonest class, a linear model, and tables of neighbouring tokens."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.claims.pretraining import arithmetic, opponents
from glasshouse.claims.pretraining.opponents import BOTH, LEFT, NO_NEIGHBOUR

TEXTS = [("a b", "x"), ("b a", "y"), ("a a", "x")]


def test_the_commonest_class_is_that_of_the_training_texts():
    assert opponents.majority_hits(TEXTS, [("", "y"), ("", "x"), ("", "y")]) == [0.0, 1.0, 0.0]


def test_a_linear_model_over_word_pairs_knows_more_than_the_commonest_class():
    training, test = (arithmetic.labelled("verbal-arithmetic", split) for split in ("train", "test"))
    majority, linear = (sum(hits(training, test)) / len(test) for hits in (opponents.majority_hits, opponents.linear_hits))
    assert majority == pytest.approx(0.7625)
    assert 0.85 < linear < 1


def test_tables_are_counted_in_one_text_and_scored_on_another():
    # 9 separates. After 1 comes 2 twice and 3 once; between 1 and 4 stands 3.
    training = [9, 1, 2, 5, 9, 1, 2, 6, 9, 1, 3, 4, 9, 2, 2, 9]
    accuracies = opponents.neighbour_accuracies(training, [9, 1, 3, 4, 9, 1, 2, 7, 9], {9})
    # The commonest token, 2, stands in one of six places.
    assert accuracies[NO_NEIGHBOUR] == pytest.approx(1 / 6)
    # After a separator comes 1 (twice right), after 1 comes 2 (right once of two), after 3 comes 4, after 2 not 7.
    assert accuracies[LEFT] == pytest.approx(4 / 6)
    # Between 1 and 4 stands 3. Between 1 and 7 stood nothing, so the smaller table answers.
    assert accuracies[BOTH] == pytest.approx(5 / 6)
    assert all(map(math.isnan, opponents.neighbour_accuracies(training, [9], {9}).values()))


@given(st.lists(st.integers(0, 4), min_size=3, max_size=40))
def test_a_larger_table_is_at_least_as_good_on_the_text_that_it_was_counted_in(tokens):
    accuracies = opponents.neighbour_accuracies(tokens, tokens, set())
    assert accuracies[NO_NEIGHBOUR] <= accuracies[LEFT] + 1e-12
    assert accuracies[LEFT] <= accuracies[BOTH] + 1e-12


def test_copying_helps_an_opponent_that_is_right_less_than_half_of_the_time():
    assert opponents.with_copying(0.0) == pytest.approx(0.1)
    assert opponents.with_copying(0.25) == pytest.approx(0.3)
    assert opponents.with_copying(0.75) == 0.75
