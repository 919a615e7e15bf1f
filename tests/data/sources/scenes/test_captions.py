"""Captions: many wordings of one meaning, and the grammar of German."""

import pytest

from glasshouse.data.sources.scenes import captions
from glasshouse.data.sources.scenes.captions import Wording, all_captions
from glasshouse.data.sources.scenes.meaning import SOME, Group, Meaning


def test_a_meaning_has_many_wordings():
    meaning = Meaning((Group("goldfish", 1), Group("square", 3, "blue")), "above")
    captions = all_captions(meaning, "english")
    for caption in (
        "a goldfish above three blue squares",
        "three squares that are blue under one goldfish",
        "above three blue squares is a goldfish",
        "there are three blue squares below a goldfish",
    ):
        assert caption in captions
    assert len(captions) == len(set(captions)) > 20


@pytest.mark.parametrize(
    ("meaning", "wording", "sentence"),
    [
        (Meaning((Group("circle", 1, "red"),)), Wording("there"), "es gibt einen roten Kreis"),
        (Meaning((Group("square", 1, "red"),)), Wording("bare"), "ein rotes Quadrat"),
        (Meaning((Group("diamond", 1, "green"),)), Wording("picture"), "ein Bild von einer grünen Raute"),
        (Meaning((Group("star", 2, "purple"),)), Wording("picture"), "ein Bild von zwei lila Sternen"),
        (Meaning((Group("circle", 3, "blue"),)), Wording("bare", clauses=(True,)), "drei Kreise, die blau sind"),
        (
            Meaning((Group("diamond", 1, "red"), Group("shark", 2)), "above"),
            Wording("inverted", second_first=True, clauses=(True, False)),
            "unter einer Raute, die rot ist, sind zwei Haie",
        ),
        (
            Meaning((Group("goldfish", 1), Group("triangle", SOME, "yellow")), "left"),
            Wording("verb", synonym=True, clauses=(False, False)),
            "ein Goldfisch ist links neben einigen gelben Dreiecken",
        ),
        (
            Meaning((Group("fish", 1), Group("shape", 4))),
            Wording("with", clauses=(False, False)),
            "ein Fisch mit vier Formen",
        ),
    ],
)
def test_german_captions_are_grammatical(meaning, wording, sentence):
    assert captions.german(meaning, wording) == sentence
