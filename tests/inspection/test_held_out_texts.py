"""Texts that a report shows: a text that the data repeat is shown once."""

from glasshouse.inspection import held_out_texts


def test_a_repeated_text_is_shown_once() -> None:
    texts = ["a", "b", "a", "c", "b", "d"]
    assert held_out_texts.distinct(range(6), texts.__getitem__, 3) == [0, 1, 3]
    assert held_out_texts.distinct([5, 4, 1, 0], texts.__getitem__, 9) == [5, 4, 0]
    assert held_out_texts.distinct([], texts.__getitem__, 3) == []
