"""Scenes: captions that come back to their meaning, German that agrees, inference that follows, pictures that show it."""

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.scenes import english, entailment_pairs, entailment_rules, german, pictures, translations
from glasshouse.data.sources.scenes.meaning import (
    COLOURS,
    COUNTS,
    FISH,
    GENERAL,
    RELATIONS,
    SHAPES,
    SOME,
    Group,
    Meaning,
    home,
    scenes,
)
from glasshouse.data.sources.scenes.parser import adequacy, parse
from glasshouse.data.sources.scenes.rendering import draw
from glasshouse.data.sources.scenes.wordings import Wording, plain

meanings = st.one_of(
    st.sampled_from(scenes()), st.integers(0, 10**6).map(lambda seed: entailment_rules.described(Random(seed)))
)


@given(meanings)
def test_every_caption_comes_back_to_its_meaning(meaning):
    for caption in english.captions(meaning) + german.captions(meaning):
        assert parse(caption) == meaning, caption
        assert adequacy(meaning, caption) == 1.0, caption


@given(meanings, meanings)
def test_another_meaning_is_never_wholly_adequate(one, other):
    share = adequacy(one, english.caption(other, plain(other)))
    assert 0 <= share <= 1
    assert (share == 1.0) == (one == other)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("ein Goldfisch über drei blauen Quadraten", 1.0),
        ("drei blaue Quadrate unter ein Goldfisch", 1.0),  # no German, but all is said
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
def test_adequacy_is_the_share_of_facts_kept(text, share):
    reference = Meaning((Group("goldfish", 1), Group("square", 3, "blue")), "above")
    assert adequacy(reference, text) == pytest.approx(share)


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
            Wording("inverted", turned=True, clauses=(True, False)),
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
def test_german_agrees(meaning, wording, sentence):
    assert german.caption(meaning, wording) == sentence


def test_captions_are_worded_in_several_ways():
    meaning = Meaning((Group("goldfish", 1), Group("square", 3, "blue")), "above")
    found = english.captions(meaning)
    for caption in (
        "a goldfish above three blue squares",
        "three squares that are blue under one goldfish",
        "above three blue squares is a goldfish",
        "there are three blue squares below a goldfish",
    ):
        assert caption in found
    assert len(found) == len(set(found)) > 20


def completions(premise, chance, count=300):
    """Random pictures that a premise is true of: its gaps filled, and perhaps other groups added."""
    for _ in range(count):
        groups = []
        taken = {group.kind for group in premise.groups}
        for group in premise.groups:
            kind = group.kind
            if kind in GENERAL:
                kind = chance.choice([member for member in GENERAL[kind] if member not in taken])
                taken.add(kind)
            colour = "" if kind in FISH else group.colour or chance.choice(COLOURS)
            groups.append(Group(kind, group.count or chance.choice(COUNTS[1:]), colour))
        relations = {(0, 1): premise.relation} if premise.relation else {}
        for _ in range(chance.randrange(3)):
            kind = chance.choice([each for each in (*SHAPES, *FISH) if each not in taken])
            taken.add(kind)
            groups.append(Group(kind, chance.choice(COUNTS), "" if kind in FISH else chance.choice(COLOURS)))
        for pair in product(range(len(groups)), repeat=2):
            if pair[0] != pair[1] and pair not in relations and pair[::-1] not in relations:
                relations[pair if chance.random() < 0.5 else pair[::-1]] = chance.choice(RELATIONS)
        yield groups, relations


def true_of(meaning, groups, relations):
    """Whether a caption is true of a picture: each phrase of a different group of it, standing as is said."""

    def fits(phrase, group):
        kind = phrase.kind == group.kind or group.kind in GENERAL.get(phrase.kind, ())
        count = phrase.count == group.count or (phrase.count == SOME and group.count > 1)
        return kind and count and phrase.colour in ("", group.colour)

    for chosen in product(range(len(groups)), repeat=len(meaning.groups)):
        said = all(fits(phrase, groups[index]) for phrase, index in zip(meaning.groups, chosen, strict=True))
        standing = not meaning.relation or relations.get(chosen) == meaning.relation
        if said and standing and len(set(chosen)) == len(chosen):
            return True
    return False


@given(st.integers(0, 10**6))
def test_labels_agree_with_what_pictures_show(seed):
    chance = Random(seed)
    hypothesis = entailment_rules.described(chance)
    premise = next(entailment_rules.premises(hypothesis, chance))
    label = entailment_rules.judge(premise, hypothesis)
    shown = {true_of(hypothesis, *picture) for picture in completions(premise, chance)}
    assert all(true_of(premise, *picture) for picture in completions(premise, chance, 20))
    if label != "neutral":
        assert shown == {label == "entailment"}, (premise, hypothesis, label)
    else:
        assert False in shown, (premise, hypothesis, label)


def test_what_is_left_open_can_be_so():
    one, two = Group("circle", 2, "red"), Group("goldfish", 1)
    premise = Meaning((replace(one, colour=""), two))
    for hypothesis in (Meaning((one,)), Meaning((one, two), "left"), Meaning((Group("square", 1, "blue"),))):
        assert entailment_rules.judge(premise, hypothesis) == "neutral"
        assert {true_of(hypothesis, *picture) for picture in completions(premise, Random(0), 3000)} == {True, False}


@pytest.fixture
def small(monkeypatch):
    """A tenth of each source, made anew."""
    for module in (entailment_pairs, pictures, translations):
        monkeypatch.setattr(module, "SIZES", {split: size // 10 for split, size in module.SIZES.items()})


def test_held_out_meanings_are_new_and_their_words_are_not(small):
    sources = [pictures.Scenes(), entailment_pairs.ScenePairs(), translations.ScenesGerman()]
    for source in sources:
        texts = {split: [line for d in source.documents(split) for line in d.text.split("\n")] for split in SPLITS}
        found = {split: {parse(text) for text in lines} for split, lines in texts.items()}
        words = {split: {word for text in lines for word in text.split()} for split, lines in texts.items()}
        assert {home(meaning) for meaning in found["train"]} == {"train"}
        assert words["validation"] | words["test"] <= words["train"]
        assert "nemo" in words["train"] | {word.rstrip(".") for word in words["train"]}
        assert not any("nemos" in word for every in words.values() for word in every)
    for source in (sources[0], sources[2]):
        for split in ("validation", "test"):
            documents = list(source.documents(split))
            assert len({parse(document.text) for document in documents}) == len(documents)
            assert {home(parse(document.text)) for document in documents} == {split}
    for split in ("validation", "test"):
        premises = {parse(document.text.split("\n")[0]) for document in sources[1].documents(split)}
        assert {home(premise) for premise in premises} == {split}


def test_a_hypothesis_alone_tells_nothing(small):
    labels = {}
    for document in entailment_pairs.ScenePairs().documents("train"):
        premise, hypothesis = map(parse, document.text.split("\n"))
        assert entailment_rules.judge(premise, hypothesis) == document.fields["label"]
        labels.setdefault(hypothesis, []).append(document.fields["label"])
    for found in labels.values():
        assert {found.count(label) for label in entailment_rules.LABELS} == {len(found) // 3}


def test_translations_mean_the_same(small):
    for document in translations.ScenesGerman().documents("test"):
        assert parse(document.fields["target"]) == parse(document.text)


def test_pictures_are_the_same_every_time_and_of_the_size_asked_for(small):
    documents = list(pictures.Scenes().documents("test"))
    assert all(document.picture.shape == (32, 32, 3) and document.picture.dtype == np.uint8 for document in documents)
    again = pictures.document("test", 7)
    assert again.text == documents[7].text
    assert np.array_equal(again.picture, documents[7].picture)
    assert pictures.document("test", 7, size=48).picture.shape == (48, 48, 3)
    assert pictures.Scenes(48).fingerprint() != pictures.Scenes().fingerprint()


@pytest.mark.parametrize("kind", ["circle", "square", "triangle", "goldfish", "tang", "shark"])
def test_a_picture_shows_as_many_as_it_says(kind):
    for count, seed in product(COUNTS, range(5)):
        picture = draw(Meaning((Group(kind, count, "" if kind in FISH else "blue"),)), Random(seed)).astype(int)
        paper = np.median(picture.reshape(-1, 3), axis=0)
        _, things = ndimage.label(np.abs(picture - paper).max(-1) > 8, structure=np.ones((3, 3)))
        assert things == count


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_picture_shows_where_things_stand(relation):
    picture = draw(Meaning((Group("circle", 2, "red"), Group("square", 3, "blue")), relation), Random(0)).astype(int)
    red = np.argwhere(picture[..., 0] - picture[..., 2] > 100)
    blue = np.argwhere(picture[..., 2] - picture[..., 0] > 100)
    axis = 0 if relation == "above" else 1
    assert red[:, axis].max() < 16 <= blue[:, axis].min()


def test_goldfish_and_nemo_can_be_told_apart():
    def orange_and_white(kind):
        picture = draw(Meaning((Group(kind, 1),)), Random(1)).astype(int)
        golden = (picture[..., 0] > 230) & (picture[..., 1] > 150) & (picture[..., 2] < 90)
        striped = (picture[..., 0] > 190) & (picture[..., 1] < 130) & (picture[..., 2] < 90)
        return int(golden.sum()), int(striped.sum())

    assert orange_and_white("goldfish")[0] > 15 > orange_and_white("nemo")[0]
    assert orange_and_white("nemo")[1] > 8 > orange_and_white("goldfish")[1]
