"""English captions: many wordings of one meaning."""

from glasshouse.data.sources.scenes import english
from glasshouse.data.sources.scenes.meaning import Group, Meaning


def test_a_meaning_has_many_wordings():
    meaning = Meaning((Group("goldfish", 1), Group("square", 3, "blue")), "above")
    captions = english.captions(meaning)
    for caption in (
        "a goldfish above three blue squares",
        "three squares that are blue under one goldfish",
        "above three blue squares is a goldfish",
        "there are three blue squares below a goldfish",
    ):
        assert caption in captions
    assert len(captions) == len(set(captions)) > 20
