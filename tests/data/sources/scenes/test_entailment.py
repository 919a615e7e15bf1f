"""Entailment labels: they agree with random pictures of which the premise is true."""

from dataclasses import replace
from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data.sources.scenes import entailment
from glasshouse.data.sources.scenes.meaning import (
    CATEGORIES,
    COLOURS,
    COUNTS,
    FISH,
    RELATIONS,
    SHAPES,
    SOME,
    Group,
    Meaning,
)
from glasshouse.data.sources.scenes.parser import parse


def random_pictures(premise, generator, count=300):
    """Random pictures, as (groups, relations), of which a premise is true.

    Everything that the premise omits is chosen at random, and there may be other groups.
    """
    for _ in range(count):
        groups = []
        used = {group.kind for group in premise.groups}
        for group in premise.groups:
            kind = group.kind
            if kind in CATEGORIES:
                kind = generator.choice([member for member in CATEGORIES[kind] if member not in used])
                used.add(kind)
            colour = "" if kind in FISH else group.colour or generator.choice(COLOURS)
            groups.append(Group(kind, group.count or generator.choice(COUNTS[1:]), colour))
        relations = {(0, 1): premise.relation} if premise.relation else {}
        for _ in range(generator.randrange(3)):
            kind = generator.choice([kind for kind in (*SHAPES, *FISH) if kind not in used])
            used.add(kind)
            groups.append(Group(kind, generator.choice(COUNTS), "" if kind in FISH else generator.choice(COLOURS)))
        for pair in product(range(len(groups)), repeat=2):
            if pair[0] != pair[1] and pair not in relations and pair[::-1] not in relations:
                relations[pair if generator.random() < 0.5 else pair[::-1]] = generator.choice(RELATIONS)
        yield groups, relations


def is_true_of(meaning, groups, relations):
    """Whether a caption is true of a picture: its phrases describe different groups, which are in the stated relation."""

    def fits(phrase, group):
        kind = phrase.kind == group.kind or group.kind in CATEGORIES.get(phrase.kind, ())
        count = phrase.count == group.count or (phrase.count == SOME and group.count > 1)
        return kind and count and phrase.colour in ("", group.colour)

    for indices in product(range(len(groups)), repeat=len(meaning.groups)):
        phrases_fit = all(fits(phrase, groups[index]) for phrase, index in zip(meaning.groups, indices, strict=True))
        relation_holds = not meaning.relation or relations.get(indices) == meaning.relation
        if phrases_fit and relation_holds and len(set(indices)) == len(indices):
            return True
    return False


@given(st.integers(0, 10**6))
def test_labels_agree_with_pictures(seed):
    generator = Random(seed)
    hypothesis = entailment.random_meaning(generator)
    premise = next(entailment.random_premises(hypothesis, generator))
    label = entailment.label_pair(premise, hypothesis)
    truths = {is_true_of(hypothesis, *picture) for picture in random_pictures(premise, generator)}
    assert all(is_true_of(premise, *picture) for picture in random_pictures(premise, generator, 20))
    if label != "neutral":
        assert truths == {label == "entailment"}, (premise, hypothesis, label)
    else:
        assert False in truths, (premise, hypothesis, label)


def test_what_a_premise_omits_may_be_true_or_false():
    one, two = Group("circle", 2, "red"), Group("goldfish", 1)
    premise = Meaning((replace(one, colour=""), two))
    for hypothesis in (Meaning((one,)), Meaning((one, two), "left"), Meaning((Group("square", 1, "blue"),))):
        assert entailment.label_pair(premise, hypothesis) == "neutral"
        pictures = random_pictures(premise, Random(0), 3000)
        assert {is_true_of(hypothesis, *picture) for picture in pictures} == {True, False}


def test_a_hypothesis_alone_does_not_reveal_the_label(small_sources):
    labels: dict = {}
    for document in entailment.ScenePairs().documents("train"):
        premise, hypothesis = map(parse, document.text.split("\n"))
        assert entailment.label_pair(premise, hypothesis) == document.fields["label"]
        labels.setdefault(hypothesis, []).append(document.fields["label"])
    for hypothesis_labels in labels.values():
        counts = {hypothesis_labels.count(label) for label in entailment.LABELS}
        assert counts == {len(hypothesis_labels) // 3}
