"""State of the Union addresses: whole addresses are held out."""

from glasshouse.data.sources.state_of_the_union import HELD_OUT, StateOfTheUnion


def test_the_shipped_text_is_split_by_whole_addresses():
    source = StateOfTheUnion()
    ids = {split: {d.fields["id"] for d in source.documents(split)} for split in ("train", "validation", "test")}
    assert ids["validation"] == HELD_OUT["validation"]
    assert ids["test"] == HELD_OUT["test"]
    assert len(ids["train"]) + 8 == 39
    assert not ids["train"] & (ids["validation"] | ids["test"])
