"""Does one caption follow from another? Known from their meanings, by the rules below, and not from their words.

A caption is of some picture and may leave things out: colours, counts, the relation, a group. Each of its phrases is of one
group there, and a picture has at most one group of a kind. "Some" is more than one. Hence a premise

- entails a hypothesis where each of its phrases says no more than a phrase of the premise, and no other relation;
- contradicts it where a kind that both name has another count or colour in each, or two such stand otherwise;
- and else leaves it open (neutral): a colour, count, relation or group that it says nothing of may be so or not.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from random import Random

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
)

LABELS = ("entailment", "neutral", "contradiction")
# How many premises are tried before a hypothesis is given up.
TRIES = 600


def judge(premise: Meaning, hypothesis: Meaning) -> str:
    """Which of the labels holds of a pair."""
    if any(_conflict(one, other) for one in premise.groups for other in hypothesis.groups if one.kind == other.kind):
        return "contradiction"
    if premise.relation and hypothesis.relation:
        kinds = [[group.kind for group in meaning.groups] for meaning in (premise, hypothesis)]
        where = [meaning.relation for meaning in (premise, hypothesis)]
        definite = not set(kinds[0]) & set(GENERAL)
        if definite and set(kinds[0]) == set(kinds[1]) and (where[0], kinds[0]) != (where[1], kinds[1]):
            return "contradiction"
    for chosen in permutations(range(len(premise.groups)), len(hypothesis.groups)):
        said = [premise.groups[index] for index in chosen]
        if all(_covers(one, other) for one, other in zip(said, hypothesis.groups, strict=True)) and (
            not hypothesis.relation or (hypothesis.relation == premise.relation and chosen == (0, 1))
        ):
            return "entailment"
    return "neutral"


def _conflict(one: Group, other: Group) -> bool:
    """Whether two groups of one kind cannot be the same."""
    counts = one.count != other.count and not (SOME in (one.count, other.count) and 1 not in (one.count, other.count))
    # "Some shapes" and "some fish" may be others of their kind.
    return one.kind not in GENERAL and (counts or (one.colour != other.colour and "" not in (one.colour, other.colour)))


def _covers(one: Group, other: Group) -> bool:
    """Whether whatever fits the first also fits the other."""
    kind = one.kind == other.kind or one.kind in GENERAL.get(other.kind, ())
    count = one.count == other.count or (other.count == SOME and one.count > 1)
    return kind and count and other.colour in ("", one.colour)


def described(chance: Random) -> Meaning:
    """A random meaning of a caption, with things left out here and there; at least one of its kinds is a definite one."""
    groups = [_group(chance)]
    if chance.random() < 0.65:
        groups.append(_group(chance, without=groups[0].kind))
        if chance.random() < 0.25:
            groups[1] = replace(groups[1], kind=_general(groups[1].kind))
        if chance.random() < 0.5:
            groups.reverse()
    return Meaning(tuple(groups), _relation(chance, 0.75) if len(groups) > 1 else "")


def premises(hypothesis: Meaning, chance: Random) -> Iterator[Meaning]:
    """Random premises for a hypothesis: its own meaning with some things said, unsaid and changed."""
    for _ in range(TRIES):
        groups = [_varied(group, chance) for group in hypothesis.groups]
        relation = hypothesis.relation
        if len(groups) == 1 and chance.random() < 0.45:
            groups.append(_group(chance))
            relation = _relation(chance, 0.75)
        elif len(groups) == 2 and chance.random() < 0.12:
            groups.pop(chance.randrange(2))
        elif chance.random() < 0.4:
            relation = _relation(chance, 0.6)
        if chance.random() < 0.3:
            groups.reverse()
        kinds = [group.kind for group in groups]
        if len(set(kinds)) == len(kinds) and set(kinds) - set(GENERAL):
            yield Meaning(tuple(groups), relation if len(groups) > 1 else "")


def _group(chance: Random, without: str = "") -> Group:
    """A random group of a definite kind."""
    family = SHAPES if chance.random() < 0.65 else FISH
    kind = chance.choice([kind for kind in family if kind != without])
    count = SOME if chance.random() < 0.15 else chance.choice(COUNTS)
    return Group(kind, count, chance.choice(COLOURS) if family is SHAPES and chance.random() < 0.7 else "")


def _relation(chance: Random, share: float) -> str:
    return chance.choice(RELATIONS) if chance.random() < share else ""


def _general(kind: str) -> str:
    return next((name for name, members in GENERAL.items() if kind in members), kind)


def _varied(group: Group, chance: Random) -> Group:
    """A group with each of its facts kept most times, and else changed, left out or added."""
    kind, luck = group.kind, chance.random()
    if kind in GENERAL:
        kind = chance.choice(GENERAL[kind]) if luck < 0.8 else kind
    elif luck < 0.12:
        kind = _general(kind) if luck < 0.05 else chance.choice([*SHAPES, *FISH])
    count = group.count
    if chance.random() < (0.7 if count == SOME else 0.25):
        count = chance.choice([SOME, *COUNTS])
    changed = Group(kind, count, group.colour)
    if not changed.coloured:
        return replace(changed, colour="")
    if chance.random() < (0.3 if group.colour else 0.6):
        changed = replace(changed, colour=chance.choice(["", *COLOURS]))
    return changed
