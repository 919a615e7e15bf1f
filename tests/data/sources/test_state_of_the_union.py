"""The addresses, and their paragraphs by president."""

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.state_of_the_union import HELD_OUT, Presidents, StateOfTheUnion
from tests.data.sources.source_access import texts


def test_the_shipped_text_is_split_by_whole_addresses():
    source = StateOfTheUnion()
    ids = {split: {d.fields["id"] for d in source.documents(split)} for split in ("train", "validation", "test")}
    assert ids["validation"] == HELD_OUT["validation"]
    assert ids["test"] == HELD_OUT["test"]
    assert len(ids["train"]) + 8 == 39
    assert not ids["train"] & (ids["validation"] | ids["test"])


def test_paragraphs_are_held_out_by_address():
    train, validation, test = (set(texts(Presidents(), split)) for split in SPLITS)
    assert len(train) > 3000
    assert len(train & (validation | test)) < 20, "only a few phrases are repeated every year"
