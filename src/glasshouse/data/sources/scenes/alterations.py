"""Captions made wrong on purpose: so many facts of a meaning changed, said in the same wording or in another.

What is said stays a caption that a person could have written, and how much of it is still right is known.
"""

from dataclasses import replace
from random import Random
from types import ModuleType

from glasshouse.data.sources.scenes import english, german, parser
from glasshouse.data.sources.scenes.meaning import COLOURS, COUNTS, FISH, GENERAL, RELATIONS, SHAPES, Group, Meaning
from glasshouse.data.sources.scenes.wordings import Wording, wordings

LANGUAGES: dict[str, ModuleType] = {"english": english, "german": german}


def versions(caption: str, language: str, changes: int, chance: Random) -> dict[str, str]:
    """One altered meaning of a caption, said in its own wording ("swapped") and in one drawn at random ("reworded").

    Empty for a text that is not a caption of the grammar.
    """
    understood = read(caption, language)
    if understood is None:
        return {}
    said = LANGUAGES[language].caption
    meaning, way = altered(*understood, changes, chance)
    return {"swapped": said(meaning, way), "reworded": said(meaning, chance.choice(wordings(meaning)))}


def read(caption: str, language: str) -> tuple[Meaning, Wording] | None:
    """The meaning and the wording of a caption; None for a text that is none."""
    meaning = parser.parse(caption)
    if meaning is None or not 0 < len({group.kind for group in meaning.groups}) == len(meaning.groups) < 3:
        return None
    said = LANGUAGES[language].caption
    return next(((meaning, way) for way in wordings(meaning) if said(meaning, way) == caption), None)


def altered(meaning: Meaning, way: Wording, changes: int, chance: Random) -> tuple[Meaning, Wording]:
    """The meaning with so many of its facts changed, or all where it has fewer, and the wording that keeps words in place.

    Facts are kinds, counts, colours and the relation. A colour that was not said stays unsaid, and a shape stays a shape.
    """
    groups, relation = list(meaning.groups), meaning.relation
    facts = [(index, fact) for index, group in enumerate(groups) for fact in _facts(group)]
    chosen = chance.sample([*facts, *([(0, "relation")] if relation else [])], min(changes, len(facts) + bool(relation)))
    for index, fact in chosen:
        if fact != "relation":
            new = chance.choice(_others(meaning, groups, index, fact))
            groups[index] = replace(groups[index], **{fact: new})
    if (0, "relation") in chosen:
        # "A above B" becomes "A below B", which is the same as B above A, or one of the other two.
        places = [(other, turned) for other in RELATIONS for turned in (False, True) if (other, turned) != (relation, False)]
        relation, turned = chance.choice(places)
        groups = groups[::-1] if turned else groups
        way = _turned(way) if turned else way
    new_meaning = Meaning(tuple(groups), relation)
    # Without a relation a meaning puts its groups in an order of its own.
    return new_meaning, way if new_meaning.groups == tuple(groups) else _turned(way)


def _turned(way: Wording) -> Wording:
    """The same order of words once the groups change places."""
    return replace(way, turned=not way.turned, clauses=way.clauses[::-1])


def _facts(group: Group) -> tuple[str, ...]:
    return ("kind", "count", "colour") if group.colour else ("kind", "count")


def _others(meaning: Meaning, groups: list[Group], index: int, fact: str) -> list:
    """What a fact of a group can be changed to; a kind to one of its family that neither group has or had."""
    if fact == "kind":
        taken = {group.kind for group in (*meaning.groups, *groups)} | set(GENERAL)
        return [kind for kind in (SHAPES if groups[index].coloured else FISH) if kind not in taken]
    return [value for value in (COUNTS if fact == "count" else COLOURS) if value != getattr(groups[index], fact)]
