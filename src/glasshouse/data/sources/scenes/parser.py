"""Parsing of English and German captions into meanings, and a score for how much of a meaning a text keeps.

The parser tolerates wrong endings, missing words and unknown words, so the output of a model can be scored as well.
`altered_captions` makes captions that are wrong on purpose: some facts of a caption's meaning are changed. Such a caption is
still plausible, and how much of the original meaning it keeps is known.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from random import Random

from glasshouse.data.sources.scenes.captions import (
    ADJECTIVES,
    ENGLISH_NUMBERS,
    GERMAN_NUMBERS,
    LANGUAGES,
    NOUNS,
    PLURALS,
    Wording,
    wordings,
)
from glasshouse.data.sources.scenes.meaning import CATEGORIES, COLOURS, COUNTS, FISH, RELATIONS, SHAPES, SOME, Group, Meaning

# A preposition -> (the relation between the phrases before and after it, whether they change places).
RELATION_WORDS = {
    word: relation
    for words, relation in {
        "above over über oberhalb": ("above", False),
        "below under unter unterhalb": ("above", True),
        "left links": ("left", False),
        "right rechts": ("left", True),
    }.items()
    for word in words.split()
}
# A colour after a relative pronoun belongs to the preceding noun.
PRONOUNS = {"that", "which", "der", "die", "das"}
# These nouns are not objects and consume their own article: "a picture of two circles" has two circles, not one.
NON_OBJECTS = {"picture", "bild"}
# Word -> count.
_NUMBERS = {
    **{word: count for count, word in (*ENGLISH_NUMBERS.items(), *GERMAN_NUMBERS.items())},
    **{f"ein{ending}": 1 for ending in ("", "e", "en", "em", "er", "es", "s")},
    "one": 1,
    "an": 1,
    "einige": SOME,
    "einigen": SOME,
}
# Word -> colour.
_COLOURS = {colour: colour for colour in ADJECTIVES} | {
    word + ending: colour for colour, word in ADJECTIVES.items() for ending in ("", "e", "en", "em", "er", "es")
}


def _forms() -> Iterator[tuple[str, tuple[str, int]]]:
    """A form of a noun with its kind, and the count of this form if no number precedes it. Later entries go first."""
    for kind, plural in PLURALS.items():
        yield from ((form, (kind, SOME)) for form in (f"{plural}s", f"{plural}es") if plural == kind)
        yield from ((kind, (kind, COUNTS[0])), (plural, (kind, SOME)))
    for kind, noun in NOUNS.items():
        yield from ((form.lower(), (kind, SOME)) for form in (noun.plural, noun.dative_plural))
        yield noun.singular.lower(), (kind, COUNTS[0])


_KINDS = dict(_forms())


def parse(text: str) -> Meaning | None:
    """The meaning of a caption, as far as it can be understood; None if it names no object."""
    groups: list[Group] = []
    relation_word: tuple[str, bool] | None = None
    relation_first = False
    count: int | None = None
    colour, within_clause = "", False
    for word in re.findall(r"\w+", text.lower()):
        if word in _NUMBERS:
            count, within_clause = _NUMBERS[word], False
        elif word in _COLOURS:
            if within_clause and groups:
                groups[-1] = replace(groups[-1], colour=_COLOURS[word])
            else:
                colour = _COLOURS[word]
        elif word in _KINDS:
            kind, default_count = _KINDS[word]
            groups.append(Group(kind, default_count if count is None else count, colour))
            count, colour, within_clause = None, "", False
        elif word in RELATION_WORDS:
            if relation_word is None:
                relation_word, relation_first = RELATION_WORDS[word], not groups
            within_clause = False
        elif word in PRONOUNS:
            within_clause = True
        elif word in NON_OBJECTS:
            count, colour, within_clause = None, "", False
    if not groups:
        return None
    if relation_word is None or len(groups) < 2:
        return Meaning(tuple(groups))
    relation, swapped = relation_word
    # In "above B is A", the preposition comes first, which also swaps the groups.
    first, second, *rest = groups[1::-1] + groups[2:] if swapped != relation_first else groups
    return Meaning((first, second, *rest), relation)


def adequacy(reference: Meaning, text: str) -> float:
    """The number of facts that a text shares with a meaning, divided by the number of facts of the one that has more.

    A fact is a group's kind, its count, its colour if stated, or the relation. The score is 1 if the text states all facts
    of the meaning and no others.
    """
    parsed = parse(text)
    if parsed is None:
        return 0.0
    longer, shorter = sorted((reference.groups, parsed.groups), key=len, reverse=True)
    same_relation = bool(reference.relation) and reference.relation == parsed.relation
    best = 0
    for indices in permutations(range(len(longer)), len(shorter)):
        shared = sum(
            (one.kind == other.kind) + (one.count == other.count) + (one.colour == other.colour != "")
            for one, other in zip((longer[index] for index in indices), shorter, strict=True)
        )
        best = max(best, shared + (same_relation and indices[:2] == (0, 1)))
    return best / max(_count_facts(reference), _count_facts(parsed))


def _count_facts(meaning: Meaning) -> int:
    return sum(2 + bool(group.colour) for group in meaning.groups) + bool(meaning.relation)


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
    meaning = parse(caption)
    if meaning is None or not 0 < len({group.kind for group in meaning.groups}) == len(meaning.groups) < 3:
        return None
    write_caption = LANGUAGES[language]
    return next(((meaning, wording) for wording in wordings(meaning) if write_caption(meaning, wording) == caption), None)


def alter(meaning: Meaning, wording: Wording, changes: int, generator: Random) -> tuple[Meaning, Wording]:
    """A meaning with `changes` of its facts changed (or all, if it has fewer), and the wording that keeps the word order.

    Facts are kinds, counts, stated colours and the relation. A shape only becomes another shape, a fish another fish.
    """
    groups, relation = list(meaning.groups), meaning.relation
    facts = [
        (index, fact) for index, group in enumerate(groups) for fact in ("kind", "count", "colour")[: 2 + bool(group.colour)]
    ]
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


def _alternatives(meaning: Meaning, groups: list[Group], index: int, fact: str) -> list:
    """The values that a fact can change to. A new kind is one that neither the original nor the altered groups have."""
    if fact == "kind":
        used = {group.kind for group in (*meaning.groups, *groups)} | set(CATEGORIES)
        return [kind for kind in (SHAPES if groups[index].can_have_colour else FISH) if kind not in used]
    return [value for value in (COUNTS if fact == "count" else COLOURS) if value != getattr(groups[index], fact)]
