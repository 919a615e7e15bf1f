"""Texts that fill a context: the recall task, word order and word count."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.data.sources.context_texts import ANIMALS, PAIRS, VALUES, Recall, WordCount, WordOrder
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers.words import Words
from tests.data.sources.source_access import split_sizes, texts
from tests.refusals import refused


@settings(max_examples=5)
@given(st.integers(6, 200))
def test_recall_fills_the_context_and_its_answer_is_at_the_beginning(context):
    source = Recall.from_spec(DataSpec(context=context))
    assert split_sizes(source) == (8000, 500, 500)
    for document in source.documents("validation"):
        *before, animal, question_mark = document.text.split()
        assert (len(before) + 2, question_mark) == (context, "?")
        colours = {word.split("_")[1]: word.split("_")[0] for word in before if "_" in word}
        assert len(colours) == len(set(colours.values())) == PAIRS
        assert colours[animal] == document.fields["label"]
        assert before.index(f"{colours[animal]}_{animal}") < max(PAIRS, context / 4)
    tokenizer = Words.train(texts(source, "validation"), 100)
    assert len(tokenizer.encode(document.text)) == context


def test_recall_refuses_a_context_without_room():
    with refused(GlasshouseError, "data.context=5"):
        Recall.from_spec(DataSpec(context=5))


def test_recall_labels_are_balanced():
    labels = Counter(document.fields["label"] for document in Recall(32).documents("train"))
    assert len(labels) == len(VALUES)
    assert max(labels.values()) < 1.15 * 8000 / len(VALUES)


@pytest.mark.parametrize("context", [8, 16])
@pytest.mark.parametrize("kind", [WordOrder, WordCount])
def test_each_text_is_followed_by_the_same_text_with_the_animals_swapped(kind, context):
    source = kind.from_spec(DataSpec(context=context))
    assert split_sizes(source) == (4000, 500, 500)
    documents = list(source.documents("test"))
    swapped = dict(zip(ANIMALS, ANIMALS[::-1], strict=True))
    for first, second in zip(documents[::2], documents[1::2], strict=True):
        assert len(first.text.split()) == context
        assert second.text.split() == [swapped.get(word, word) for word in first.text.split()]
        assert second.fields["label"] == swapped[first.fields["label"]]


def test_the_label_is_the_animal_that_is_named_first():
    for document in WordOrder(8).documents("train"):
        animals = [word for word in document.text.split() if word in ANIMALS]
        assert len(set(animals)) == len(animals) == 2
        assert document.fields["label"] == animals[0]


def test_the_label_is_the_animal_that_is_named_twice_in_any_order():
    documents = list(WordCount(8).documents("train"))
    orders: Counter[int] = Counter()
    for document in documents:
        animals = [word for word in document.text.split() if word in ANIMALS]
        [twice, once] = sorted(ANIMALS, key=animals.count, reverse=True)
        assert (animals.count(twice), animals.count(once), document.fields["label"]) == (2, 1, twice)
        orders[animals.index(once)] += 1
    assert min(orders.values()) > 0.3 * len(documents), "the other animal is first, second and third equally often"


def test_no_text_is_in_two_splits():
    texts = [document.text for split in ("train", "validation", "test") for document in WordOrder(8).documents(split)]
    assert len(set(texts)) == len(texts) == 5000


def test_a_context_without_room_is_refused():
    with refused(GlasshouseError, "data.context=5"):
        WordOrder.from_spec(DataSpec(context=5))
