"""Entities: what each scheme of tags marks, and the scores of whole entities."""

import pytest

from glasshouse.metrics.entities import count, mark_entities, spans


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O O", []),
        ("B-PER I-PER O B-LOC", [("PER", 0, 2), ("LOC", 3, 4)]),
        ("B-PER B-PER I-PER", [("PER", 0, 1), ("PER", 1, 3)]),
        # IOB1: an entity may begin with I.
        ("I-PER I-PER O I-LOC", [("PER", 0, 2), ("LOC", 3, 4)]),
        # Another kind begins another entity.
        ("B-PER I-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3)]),
        ("S-PER B-LOC I-LOC E-LOC S-LOC", [("PER", 0, 1), ("LOC", 1, 4), ("LOC", 4, 5)]),
        ("U-PER B-LOC L-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3), ("LOC", 3, 4)]),
        ("B-first-name I-first-name", [("first-name", 0, 2)]),
        ("", []),
    ],
)
def test_the_spans_of_a_text(tags, expected):
    assert spans(tags.split()) == expected


def test_an_entity_is_right_if_its_kind_and_all_its_words_are():
    truth = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O"]]
    predictions = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O"]]
    counts = count(truth, predictions)
    assert counts.names == ("LOC", "PER")
    assert counts.correct.tolist() == [1, 0]
    assert counts.predicted.tolist() == [1, 2]
    assert counts.actual.tolist() == [2, 1]
    assert counts.f1.tolist() == pytest.approx([2 / 3, 0])
    assert counts.total().f1[0] == pytest.approx(2 / 6)


def test_only_prefixes_of_a_scheme_mark_entities():
    assert mark_entities(["O", "B-PER", "I-PER"])
    assert mark_entities(["O", "I-PER"])
    assert not mark_entities(["NOUN", "VERB", "O"])
    assert not mark_entities(["O"])
    assert not mark_entities(["B-PER", "NN"])
    assert not mark_entities(["S-BAR", "O"])
