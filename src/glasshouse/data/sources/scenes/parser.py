"""From a caption, English or German, back to its meaning; and how much of a meaning a text keeps.

Reading is tolerant: wrong endings, missing or foreign words do not stop it, so that what a model writes can be judged too.
"""

import re
from dataclasses import replace
from functools import cache
from itertools import permutations

from glasshouse.data.sources.scenes import english, german
from glasshouse.data.sources.scenes.meaning import COUNTS, SOME, Group, Meaning

# Where a relation's word puts what stands before it, relative to what comes after: (relation, other way round).
PLACES = {
    "above": ("above", False),
    "over": ("above", False),
    "below": ("above", True),
    "under": ("above", True),
    "left": ("left", False),
    "right": ("left", True),
    "über": ("above", False),
    "oberhalb": ("above", False),
    "unter": ("above", True),
    "unterhalb": ("above", True),
    "links": ("left", False),
    "rechts": ("left", True),
}
# After these a colour belongs to the noun before.
PRONOUNS = {"that", "which", "der", "die", "das"}
# These take nothing with them of what was read before: "a picture of two circles" has two, not one.
FRAMES = {"picture", "bild"}


def parse(text: str) -> Meaning | None:
    """The meaning of a caption, as far as it can be made out; None where no thing is named."""
    found: list[Group] = []
    place: tuple[str, bool] | None = None
    before_first = False
    count: int | None = None
    colour, within_clause = "", False
    for word in re.findall(r"\w+", text.lower()):
        if word in _numbers():
            count, within_clause = _numbers()[word], False
        elif word in _colours():
            if within_clause and found:
                found[-1] = replace(found[-1], colour=_colours()[word])
            else:
                colour = _colours()[word]
        elif word in _kinds():
            kind, usual = _kinds()[word]
            found.append(Group(kind, usual if count is None else count, colour))
            count, colour, within_clause = None, "", False
        elif word in PLACES:
            if place is None:
                place, before_first = PLACES[word], not found
            within_clause = False
        elif word in PRONOUNS:
            within_clause = True
        elif word in FRAMES:
            count, colour, within_clause = None, "", False
    if not found:
        return None
    if place is None or len(found) < 2:
        return Meaning(tuple(found))
    relation, turned = place
    # "Above B is A" names what is below first.
    first, second, *rest = found[1::-1] + found[2:] if turned != before_first else found
    return Meaning((first, second, *rest), relation)


def adequacy(reference: Meaning, text: str) -> float:
    """The share of facts that a text has in common with a meaning, of the facts of whichever has more: 1 is all and no more.

    A fact is a group's kind, its count, its colour where one is said, or the relation.
    """
    found = parse(text)
    if found is None:
        return 0.0
    longer, shorter = sorted((reference.groups, found.groups), key=len, reverse=True)
    related = bool(reference.relation) and reference.relation == found.relation
    kept = 0
    for chosen in permutations(range(len(longer)), len(shorter)):
        same = sum(_shared(longer[index], group) for index, group in zip(chosen, shorter, strict=True))
        kept = max(kept, same + (related and chosen[:2] == (0, 1)))
    return kept / max(_facts(reference), _facts(found))


def _shared(one: Group, other: Group) -> int:
    return (one.kind == other.kind) + (one.count == other.count) + (one.colour == other.colour != "")


def _facts(meaning: Meaning) -> int:
    return sum(2 + bool(group.colour) for group in meaning.groups) + bool(meaning.relation)


@cache
def _numbers() -> dict[str, int]:
    words = {word: count for count, word in english.NUMBERS.items()} | {"one": 1, "an": 1}
    words |= {word: count for count, word in german.NUMBERS.items()}
    words |= {f"ein{ending}": 1 for ending in ("", "e", "en", "em", "er", "es", "s")}
    return words | {"einige": SOME, "einigen": SOME}


@cache
def _colours() -> dict[str, str]:
    endings = ("", "e", "en", "em", "er", "es")
    return {colour: colour for colour in german.ADJECTIVES} | {
        word + ending: colour for colour, word in german.ADJECTIVES.items() for ending in endings
    }


@cache
def _kinds() -> dict[str, tuple[str, int]]:
    """Word -> (kind, the count that it has without a number before it)."""
    words: dict[str, tuple[str, int]] = {}
    for kind, plural in english.PLURALS.items():
        words |= {f"{plural}s": (kind, SOME), f"{plural}es": (kind, SOME)} if plural == kind else {}
        words |= {kind: (kind, COUNTS[0]), plural: (kind, SOME)}
    for kind, noun in german.NOUNS.items():
        words |= {noun.plural.lower(): (kind, SOME), noun.dative_plural.lower(): (kind, SOME)}
        words |= {noun.singular.lower(): (kind, COUNTS[0])}
    return words
