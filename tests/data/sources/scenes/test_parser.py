"""The parser: every caption gives its meaning back, and adequacy is the share of facts that a text keeps."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data.sources.scenes import captions, entailment
from glasshouse.data.sources.scenes.captions import shortest_wording
from glasshouse.data.sources.scenes.meaning import Group, Meaning, all_scenes
from glasshouse.data.sources.scenes.parser import adequacy, parse

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
