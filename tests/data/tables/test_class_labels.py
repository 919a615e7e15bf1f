"""Several labels in a cell: a fair share of the rows must have them, and the labels must recur."""

import pytest

from glasshouse.data.tables import class_labels
from glasshouse.data.tables.table import ITEM_SEPARATOR

SINGLE = ["a", "b", "c"] * 30


@pytest.mark.parametrize("separator", ["|", "; ", ", ", ITEM_SEPARATOR])
def test_labels_are_taken_apart_if_a_fair_share_of_rows_has_several(separator):
    several = [separator.join(pair) for pair in ("ab", "bc", "ca")] * 10
    assert class_labels.are_lists([*SINGLE, *several])
    assert class_labels.items(several[0]) == ["a", "b"]


def test_a_few_rows_with_several_labels_make_no_lists():
    assert not class_labels.are_lists([*SINGLE, "a, b", "b|c"])
    assert class_labels.combined([*SINGLE, "a, b", "b|c", "x, y"]) == ["a, b", "b|c"]


def test_texts_and_places_are_no_lists():
    assert not class_labels.are_lists([f"a text, number {number}, with commas" for number in range(100)])
    assert not class_labels.are_lists(["Paris, France", "Berlin, Germany", "Rome, Italy"] * 30)
