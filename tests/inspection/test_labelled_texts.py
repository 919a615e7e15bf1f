"""Labelled texts: samples are reproducible, and rows are held out as in training."""

from glasshouse.data import prepared_data
from glasshouse.inspection import labelled_texts
from glasshouse.inspection.labelled_texts import LabelledTexts


def test_a_sample_is_random_and_the_same_each_time():
    all_texts = LabelledTexts(tuple(map(str, range(50))), tuple("ab" * 25))
    some = all_texts.sample(10)
    assert some == all_texts.sample(10)
    assert some.texts != all_texts.texts[:10]
    assert list(some.texts) == sorted(some.texts, key=int)
    assert all_texts.sample(0) is all_texts.sample(99) is all_texts


def test_rows_are_held_out_as_training_holds_them_out(classifier, labelled_file):
    splits = labelled_texts.read(str(labelled_file))
    source = prepared_data.find_source(classifier.spec.data, ("label",))
    for split, rows in splits.items():
        assert list(rows.texts) == [document.text for document in source.documents(split)]
    assert len(labelled_texts.read("presidents")["train"]) > 3000
