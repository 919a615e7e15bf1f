"""Tasks in the context: different words, one label for each kind, and assignments that are in one split only."""

from glasshouse.data.sources import label_tasks
from glasshouse.data.sources.label_tasks import KINDS, LABELS, LabelTasks
from tests.data.sources.source_access import split_sizes


def test_a_document_gives_each_kind_one_label_and_repeats_no_word():
    source = LabelTasks()
    assert split_sizes(source) == (16000, 200, 200)
    known = set(label_tasks.assignments("validation"))
    orders = set()
    for document in source.documents("validation"):
        tokens = document.text.split()
        labels = dict(zip(tokens[::2], tokens[1::2], strict=True))
        assert len(tokens) == 2 * len(labels) == 64
        assignment = tuple(labels[words[0]] for words in KINDS.values())
        assert assignment in known
        assert labels == label_tasks.label_words(assignment)
        orders.add(tuple(labels))
    assert len(orders) == 200


def test_assignments_are_in_one_split_only():
    splits = {split: label_tasks.assignments(split) for split in ("train", "validation", "test")}
    assert {split: len(found) for split, found in splits.items()} == {"train": 1344, "validation": 168, "test": 168}
    assert len({assignment for found in splits.values() for assignment in found}) == 8 * 7 * 6 * 5
    assert all(len(set(assignment)) == len(KINDS) for assignment in splits["test"])
    assert {label for assignment in splits["test"] for label in assignment} == set(LABELS)


def test_all_words_of_a_kind_have_its_label():
    labels = label_tasks.label_words(("up", "down", "first", "last"))
    assert len(labels) == 32
    assert (labels["two"], labels["farmers"], labels["cities"], labels["fair"]) == ("up", "down", "first", "last")
