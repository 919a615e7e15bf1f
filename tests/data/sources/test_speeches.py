"""Speeches: the published sizes, and the share that is held out for validation."""

import pytest

from glasshouse.data import prepared_data
from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.speeches import HELD_OUT, CourseSpeeches, Presidents, Speeches, SpeechesText, StateOfTheUnion
from glasshouse.specs.spec import DataSpec
from tests.data.sources.source_access import split_sizes, texts
from tests.needs import needs_data


@needs_data
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_speeches_hold_out_the_requested_share(share):
    data = DataSpec(validation=share)
    segments, text = Speeches.from_spec(data), SpeechesText.from_spec(data)
    train, validation, test = split_sizes(segments)
    assert (train + validation, test) == (2092, 750)
    assert validation == pytest.approx(2092 * share, abs=10)
    length = [sum(map(len, texts(text, split))) for split in SPLITS]
    assert length[1] == pytest.approx(sum(length[:2]) * share, abs=300)
    assert [d.fields["speaker"] for d in text.documents("test")] == ["Obama", "W. Bush", "H. Bush"]
    assert all(len(d.text.split("\n")) == 250 for d in text.documents("test"))
    assert Speeches(0.2).fingerprint() != segments.fingerprint()
    assert SpeechesText(0.2).fingerprint() != text.fingerprint()


@needs_data
def test_only_the_test_split_shares_texts_with_the_training_split():
    assert sum(split_sizes(Speeches())[:2]) == 2092
    prepared = prepared_data.prepare(DataSpec(source="speeches", tokenizer="words", vocabulary=8192), columns=("label",))
    assert [" test texts " in leak for leak in prepared.leaks] == [True]


@needs_data
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_new_segments_do_not_stand_in_the_training_file(share):
    segments = Speeches(share)
    training_file = set(texts(Speeches(0.0), "train"))
    new = texts(segments, "test-new")
    assert len(new) == 199
    assert new == [text for text in texts(segments, "test") if text not in training_file]
    labels = {document.text: document.fields["label"] for document in segments.documents("test")}
    assert all(labels[document.text] == document.fields["label"] for document in segments.documents("test-new"))


@needs_data
def test_new_segments_are_a_split_of_the_prepared_data():
    prepared = prepared_data.prepare(DataSpec(source="speeches", tokenizer="words", vocabulary=8192), columns=("label",))
    assert {split: shard.documents for split, shard in prepared.splits.items()}["test-new"] == 199
    assert len(prepared.splits["test-new"].labels) == 199


@needs_data
def test_the_course_trains_its_tokenizer_on_both_training_files():
    course = CourseSpeeches(0.0)
    tokenizer_texts = [document.text for document in course.tokenizer_documents()]
    assert len(tokenizer_texts) == 2092 + 1553
    assert tokenizer_texts[:2092] == texts(Speeches(0.0), "train") == texts(course, "train")
    assert "".join(tokenizer_texts[2092:]) == "".join(texts(SpeechesText(0.0), "train")).replace("\n", "")
    assert course.fingerprint() != Speeches(0.0).fingerprint()
    held_out = CourseSpeeches(0.1)
    assert not set(texts(held_out, "validation")) & {document.text for document in held_out.tokenizer_documents()}


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
