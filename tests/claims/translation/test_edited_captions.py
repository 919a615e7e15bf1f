"""Captions with known faults: their adequacy and entailment follow from the edits."""

from random import Random

import pytest

from glasshouse.claims.translation import edited_captions
from glasshouse.claims.translation.edited_captions import ANY, CHANGES, SAME, EditedCaption
from glasshouse.data.sources.scenes import entailment, parser
from glasshouse.data.sources.scenes.meaning import Group, Meaning, split_of


@pytest.fixture(scope="module")
def captions() -> edited_captions.CaptionTest:
    return edited_captions.make_test(3, 40)


def test_a_caption_is_adequate_and_entailed_exactly_if_no_fact_was_changed(captions):
    for by_changes in captions.edited.values():
        assert all(caption.adequacy == 1 and caption.follows_both for caption in by_changes[0])
        assert not any(caption.adequacy == 1 or caption.follows for n in CHANGES[1:] for caption in by_changes[n])


def test_more_changed_facts_leave_less_and_both_wordings_say_the_same(captions):
    same, free = captions.edited[SAME], captions.edited[ANY]
    for changes in CHANGES:
        adequacies = [[caption.adequacy for caption in by_changes[changes]] for by_changes in (same, free)]
        assert adequacies[0] == pytest.approx(adequacies[1])
    means = [sum(caption.adequacy for caption in same[changes]) for changes in CHANGES]
    assert means == sorted(means, reverse=True)
    assert all(caption.text == caption.reference for caption in same[0])
    assert sum(caption.text == caption.reference for caption in free[0]) < 10


def test_references_are_distinct_meanings_of_the_test_split_and_depend_on_the_seed(captions):
    meanings = [parser.parse(caption.reference) for caption in captions.edited[SAME][0]]
    assert len(set(meanings)) == 40
    assert {split_of(meaning) for meaning in meanings if meaning} == {"test"}
    assert edited_captions.make_test(3, 40) == captions
    assert edited_captions.make_test(4, 40) != captions


def test_an_omission_is_entailed_and_does_not_entail(captions):
    assert len(captions.omissions) == 40
    assert all(caption.follows and not caption.follows_both and caption.adequacy < 1 for caption in captions.omissions)
    two = Meaning((Group("circle", 2, "red"), Group("shark", 1)), "above")
    omitted = {edited_captions.omit_fact(two, Random(seed)) for seed in range(60)}
    assert omitted == {
        Meaning((Group("circle", 2), Group("shark", 1)), "above"),
        Meaning((Group("circle", 0, "red"), Group("shark", 1)), "above"),
        Meaning((Group("shark", 1),)),
        Meaning((Group("circle", 2, "red"),)),
        Meaning((Group("circle", 2, "red"), Group("shark", 1))),
    }
    assert {entailment.label_pair(two, meaning) for meaning in omitted} == {"entailment"}


def test_shuffled_captions_have_the_same_words_and_another_meaning(captions):
    assert len(captions.shuffled) > 20
    for caption in captions.shuffled:
        assert sorted(caption.text.split()) == sorted(caption.reference.split())
        assert caption.adequacy < 1
        assert not caption.follows


def test_a_made_up_translator_has_its_error_rate_and_wording(captions):
    perfect = edited_captions.translate_badly(captions, 0.0, 0.0, Random(0))
    assert perfect == captions.edited[SAME][0]
    hopeless = edited_captions.translate_badly(captions, 1.0, 1.0, Random(0))
    assert hopeless == captions.edited[ANY][3]
    middling = edited_captions.translate_badly(captions, 0.3, 0.5, Random(0))
    assert 5 < sum(caption.follows for caption in middling) < 30


def test_a_text_without_a_meaning_is_refused():
    with pytest.raises(ValueError, match="no meaning"):
        EditedCaption.of("two circles", "of the")
