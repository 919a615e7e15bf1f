"""The recall task: texts that fill the context, with the answer at the beginning and balanced labels."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.data.sources.recall import PAIRS, VALUES, Recall
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
