"""Captions that are wrong on purpose: some facts of a caption's meaning are changed.

The altered caption is still a plausible caption, and how much of the original meaning it keeps is known.
"""

from dataclasses import replace
from random import Random

from glasshouse.data.sources.scenes import parser
from glasshouse.data.sources.scenes.captions import LANGUAGES, Wording, wordings
from glasshouse.data.sources.scenes.meaning import CATEGORIES, COLOURS, COUNTS, FISH, RELATIONS, SHAPES, Group, Meaning


def altered_captions(caption: str, language: str, changes: int, generator: Random) -> dict[str, str]:
    """Captions of one altered meaning: "swapped" keeps the wording of the original, "reworded" has a random wording.

    The result is empty if the text is not a caption of the grammar.
    """
    parsed = parse_caption(caption, language)
    if parsed is None:
        return {}
    write_caption = LANGUAGES[language]
    meaning, wording = alter(*parsed, changes, generator)
    return {
        "swapped": write_caption(meaning, wording),
        "reworded": write_caption(meaning, generator.choice(wordings(meaning))),
    }


def parse_caption(caption: str, language: str) -> tuple[Meaning, Wording] | None:
    """The meaning and the wording of a caption; None if the text is not a caption of the grammar."""
    meaning = parser.parse(caption)
    if meaning is None or not 0 < len({group.kind for group in meaning.groups}) == len(meaning.groups) < 3:
        return None
    write_caption = LANGUAGES[language]
    return next(((meaning, wording) for wording in wordings(meaning) if write_caption(meaning, wording) == caption), None)


def alter(meaning: Meaning, wording: Wording, changes: int, generator: Random) -> tuple[Meaning, Wording]:
    """A meaning with `changes` of its facts changed (or all, if it has fewer), and the wording that keeps the word order.

    Facts are kinds, counts, stated colours and the relation. A shape only becomes another shape, a fish another fish.
    """
    groups, relation = list(meaning.groups), meaning.relation
    facts = [(index, fact) for index, group in enumerate(groups) for fact in _facts(group)]
    changed = generator.sample([*facts, *([(0, "relation")] if relation else [])], min(changes, len(facts) + bool(relation)))
    for index, fact in changed:
        if fact != "relation":
            value = generator.choice(_alternatives(meaning, groups, index, fact))
            groups[index] = replace(groups[index], **{fact: value})
    if (0, "relation") in changed:
        # "A above B" becomes "A below B", which means "B above A", or one of the two horizontal relations.
        options = [(other, swap) for other in RELATIONS for swap in (False, True) if (other, swap) != (relation, False)]
        relation, swap = generator.choice(options)
        groups = groups[::-1] if swap else groups
        wording = _swap_groups(wording) if swap else wording
    altered = Meaning(tuple(groups), relation)
    # A meaning without a relation sorts its groups, so they may have changed places.
    return altered, wording if altered.groups == tuple(groups) else _swap_groups(wording)


def _swap_groups(wording: Wording) -> Wording:
    """The wording that gives the same word order after the two groups have changed places."""
    return replace(wording, second_first=not wording.second_first, clauses=wording.clauses[::-1])


def _facts(group: Group) -> tuple[str, ...]:
    return ("kind", "count", "colour") if group.colour else ("kind", "count")


def _alternatives(meaning: Meaning, groups: list[Group], index: int, fact: str) -> list:
    """The values that a fact can change to. A new kind is one that neither the original nor the altered groups have."""
    if fact == "kind":
        used = {group.kind for group in (*meaning.groups, *groups)} | set(CATEGORIES)
        return [kind for kind in (SHAPES if groups[index].can_have_colour else FISH) if kind not in used]
    return [value for value in (COUNTS if fact == "count" else COLOURS) if value != getattr(groups[index], fact)]
