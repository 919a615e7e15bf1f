"""The parser: every caption gives its meaning back, and adequacy is the share of facts that a text keeps."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data.sources.scenes import captions, entailment, parser
from glasshouse.data.sources.scenes.captions import shortest_wording
from glasshouse.data.sources.scenes.meaning import Group, Meaning, all_scenes
from glasshouse.data.sources.scenes.parser import adequacy, parse
from glasshouse.data.sources.scenes.translations import GermanScenes, ScenesGerman

meanings = st.one_of(
    st.sampled_from(all_scenes()), st.integers(0, 10**6).map(lambda seed: entailment.random_meaning(Random(seed)))
)


@given(meanings)
def test_every_caption_gives_its_meaning_back(meaning):
    for caption in captions.all_captions(meaning, "english") + captions.all_captions(meaning, "german"):
        assert parse(caption) == meaning, caption
        assert adequacy(meaning, caption) == 1.0, caption


@given(meanings, meanings)
def test_another_meaning_is_never_fully_adequate(one, other):
    score = adequacy(one, captions.english(other, shortest_wording(other)))
    assert 0 <= score <= 1
    assert (score == 1.0) == (one == other)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("ein Goldfisch über drei blauen Quadraten", 1.0),
        ("drei blaue Quadrate unter ein Goldfisch", 1.0),  # wrong German, but all facts are right
        ("ein Goldfisch über drei roten Quadraten", 5 / 6),
        ("ein Goldfisch unter drei blauen Quadraten", 5 / 6),
        ("ein Goldfisch und drei blaue Quadrate", 5 / 6),
        ("a goldfish", 2 / 6),
        ("a goldfish above three blue squares and a shark", 6 / 8),
        ("a shark above three blue squares", 5 / 6),
        ("nothing of the kind", 0.0),
        ("", 0.0),
    ],
)
def test_adequacy_is_the_share_of_facts_kept(text, score):
    reference = Meaning((Group("goldfish", 1), Group("square", 3, "blue")), "above")
    assert adequacy(reference, text) == pytest.approx(score)


CHANGES = 4


@pytest.mark.slow
@pytest.mark.parametrize(("source", "language"), [(GermanScenes, "english"), (ScenesGerman, "german")])
def test_altered_captions_lose_as_much_as_was_changed(source, language):
    adequacies: dict = {}
    for number, document in enumerate(source().documents("validation")):
        caption, changes = document.fields["target"], number % CHANGES
        altered = parser.altered_captions(caption, language, changes, Random(number))
        for kind, text in altered.items():
            assert parser.parse_caption(text, language), text
            adequacies.setdefault((kind, changes), []).append(parser.adequacy(parser.parse(caption), text))
        if not changes:
            assert altered["swapped"] == caption
        else:
            # A word is replaced in its position; the longest replacement is "to the left of" for "over".
            assert abs(len(altered["swapped"].split()) - len(caption.split())) <= 3
    assert set(adequacies["swapped", 0]) == set(adequacies["reworded", 0]) == {1.0}
    means = [np.mean(adequacies["swapped", changes]) for changes in range(CHANGES)]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.6
    assert adequacies["swapped", 1] == adequacies["reworded", 1]
    assert parser.altered_captions("no caption at all", language, 1, Random(0)) == {}
    assert parser.altered_captions("two circles two", language, 1, Random(0)) == {}
