"""Pairs of captions for natural-language inference. Their labels follow from their meanings and not from their words.

A caption describes a picture and may omit things: colours, counts, the relation, a group. Each of its phrases describes one
group of the picture, and a picture has at most one group of each kind. "Some" means more than one. Therefore a premise

- entails a hypothesis if every phrase of the hypothesis follows from a different phrase of the premise, and the hypothesis
  states no relation other than that of the premise;
- contradicts a hypothesis if both name the same kind with different counts or colours, or if both name the same two kinds
  with different relations;
- is neutral otherwise, since what it omits may be true or false.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations
from random import Random
from typing import ClassVar

from glasshouse.data.documents import Document, GeneratedSource
from glasshouse.data.sources.scenes import captions
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
    split_of,
)

LABELS = ("entailment", "neutral", "contradiction")
# The maximum number of random premises for a hypothesis.
MAX_PREMISES = 600
# The number of hypotheses in each split. There is one pair for each hypothesis and label.
SIZES = {"train": 3000, "validation": 200, "test": 200}
SEED = 1


def label_pair(premise: Meaning, hypothesis: Meaning) -> str:
    if any(_conflict(one, other) for one in premise.groups for other in hypothesis.groups if one.kind == other.kind):
        return "contradiction"
    if premise.relation and hypothesis.relation:
        kinds = [[group.kind for group in meaning.groups] for meaning in (premise, hypothesis)]
        relations = [meaning.relation for meaning in (premise, hypothesis)]
        specific = not set(kinds[0]) & set(CATEGORIES)
        if specific and set(kinds[0]) == set(kinds[1]) and (relations[0], kinds[0]) != (relations[1], kinds[1]):
            return "contradiction"
    for indices in permutations(range(len(premise.groups)), len(hypothesis.groups)):
        matched = [premise.groups[index] for index in indices]
        if all(_implies(one, other) for one, other in zip(matched, hypothesis.groups, strict=True)) and (
            not hypothesis.relation or (hypothesis.relation == premise.relation and indices == (0, 1))
        ):
            return "entailment"
    return "neutral"


def _conflict(one: Group, other: Group) -> bool:
    """Whether two phrases of the same kind cannot describe the same group."""
    counts = one.count != other.count and not (SOME in (one.count, other.count) and 1 not in (one.count, other.count))
    # "Some shapes" in one caption and "some shapes" in the other may be different groups.
    return one.kind not in CATEGORIES and (counts or (one.colour != other.colour and "" not in (one.colour, other.colour)))


def _implies(one: Group, other: Group) -> bool:
    """Whether every group that the first phrase describes is also described by the second phrase."""
    kind = one.kind == other.kind or one.kind in CATEGORIES.get(other.kind, ())
    count = one.count == other.count or (other.count == SOME and one.count > 1)
    return kind and count and other.colour in ("", one.colour)


def random_meaning(generator: Random) -> Meaning:
    """A random meaning of a caption that omits some things. At least one of its kinds is specific, such as "circle"."""
    groups = [_random_group(generator)]
    if generator.random() < 0.65:
        groups.append(_random_group(generator, without=groups[0].kind))
        if generator.random() < 0.25:
            groups[1] = replace(groups[1], kind=_category(groups[1].kind))
        if generator.random() < 0.5:
            groups.reverse()
    return Meaning(tuple(groups), _random_relation(generator, 0.75) if len(groups) > 1 else "")


def random_premises(hypothesis: Meaning, generator: Random) -> Iterator[Meaning]:
    """Random premises for a hypothesis: its own meaning with some facts added, omitted or changed."""
    for _ in range(MAX_PREMISES):
        groups = [_vary(group, generator) for group in hypothesis.groups]
        relation = hypothesis.relation
        if len(groups) == 1 and generator.random() < 0.45:
            groups.append(_random_group(generator))
            relation = _random_relation(generator, 0.75)
        elif len(groups) == 2 and generator.random() < 0.12:
            groups.pop(generator.randrange(2))
        elif generator.random() < 0.4:
            relation = _random_relation(generator, 0.6)
        if generator.random() < 0.3:
            groups.reverse()
        kinds = [group.kind for group in groups]
        if len(set(kinds)) == len(kinds) and set(kinds) - set(CATEGORIES):
            yield Meaning(tuple(groups), relation if len(groups) > 1 else "")


def _random_group(generator: Random, without: str = "") -> Group:
    family = SHAPES if generator.random() < 0.65 else FISH
    kind = generator.choice([kind for kind in family if kind != without])
    count = SOME if generator.random() < 0.15 else generator.choice(COUNTS)
    return Group(kind, count, generator.choice(COLOURS) if family is SHAPES and generator.random() < 0.7 else "")


def _random_relation(generator: Random, probability: float) -> str:
    return generator.choice(RELATIONS) if generator.random() < probability else ""


def _category(kind: str) -> str:
    return next((name for name, members in CATEGORIES.items() if kind in members), kind)


def _vary(group: Group, generator: Random) -> Group:
    """A group in which each fact is usually kept, and otherwise changed, omitted or added."""
    kind, draw = group.kind, generator.random()
    if kind in CATEGORIES:
        kind = generator.choice(CATEGORIES[kind]) if draw < 0.8 else kind
    elif draw < 0.12:
        kind = _category(kind) if draw < 0.05 else generator.choice([*SHAPES, *FISH])
    count = group.count
    if generator.random() < (0.7 if count == SOME else 0.25):
        count = generator.choice([SOME, *COUNTS])
    varied = Group(kind, count, group.colour)
    if not varied.can_have_colour:
        return replace(varied, colour="")
    if generator.random() < (0.3 if group.colour else 0.6):
        varied = replace(varied, colour=generator.choice(["", *COLOURS]))
    return varied


class ScenePairs(GeneratedSource):
    """Each document is a premise and a hypothesis on two lines. Both end with a full stop.

    Every hypothesis occurs three times, once with each label, so the hypothesis alone does not reveal the label. The meaning
    of a held-out premise never occurs in the training split.
    """

    about = "pairs of captions of scenes: does the second follow from the first?"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        yield from _documents(split, SIZES[split])


@cache
def _documents(split: str, size: int) -> tuple[Document, ...]:
    """The documents of a split with this many hypotheses. Finding the premises takes seconds, so it is done once."""
    documents: list[Document] = []
    hypotheses = attempt = 0
    while hypotheses < size:
        generator = Random(f"{SEED} {split} {attempt}")
        attempt += 1
        # In a held-out split, half of the hypotheses have a meaning from the training split. The others have a held-out
        # meaning, so that a premise can have the same meaning as its hypothesis.
        hypothesis_split = split if hypotheses % 2 else "train"
        hypothesis = random_meaning(generator)
        if split_of(hypothesis) == hypothesis_split and (premises := _find_premises(hypothesis, split, generator)):
            hypotheses += 1
            for label, premise in premises.items():
                sentences = (captions.random_english(meaning, generator) for meaning in (premise, hypothesis))
                documents.append(Document("\n".join(f"{text}." for text in sentences), fields={"label": label}))
    return tuple(documents)


def _find_premises(hypothesis: Meaning, split: str, generator: Random) -> dict[str, Meaning] | None:
    """A premise from the split for each label; None if the search does not find one for every label."""
    premises: dict[str, Meaning] = {}
    for premise in random_premises(hypothesis, generator):
        label = label_pair(premise, hypothesis)
        if label not in premises and split_of(premise) == split:
            premises[label] = premise
            if len(premises) == len(LABELS):
                return {label: premises[label] for label in LABELS}
    return None
