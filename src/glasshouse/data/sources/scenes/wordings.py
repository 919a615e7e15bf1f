"""The wordings of a meaning. Both languages share them, so a caption and its translation are constructed alike.

Knows no words of either language.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from glasshouse.data.sources.scenes.meaning import Group, Meaning

# Sentence templates: "A above B" (bare), "there is A above B", "a picture of A above B", "A is above B" (verb),
# "above B is A" (inverted), "A with B".
ONE_GROUP_TEMPLATES = ("bare", "there", "picture")
RELATION_TEMPLATES = (*ONE_GROUP_TEMPLATES, "verb", "inverted")
NO_RELATION_TEMPLATES = (*ONE_GROUP_TEMPLATES, "with")


@dataclass(frozen=True)
class Wording:
    """One way to express a meaning: a sentence template, whether the second group comes first, and details."""

    template: str
    second_first: bool = False
    synonym: bool = False  # "over" instead of "above"
    numeral: bool = False  # "one" instead of "a"
    clauses: tuple[bool, ...] = (False,)  # for each group, "circles that are red" instead of "red circles"


@cache
def wordings(meaning: Meaning) -> tuple[Wording, ...]:
    """All wordings of a meaning."""
    single = len(meaning.groups) == 1
    templates = ONE_GROUP_TEMPLATES if single else RELATION_TEMPLATES if meaning.relation else NO_RELATION_TEMPLATES
    numerals = (False, True) if any(group.count == 1 for group in meaning.groups) else (False,)
    clauses = product(*((False, True) if group.colour else (False,) for group in meaning.groups))
    return tuple(
        Wording(*choice)
        for choice in product(
            templates,
            (False,) if single else (False, True),
            (False, True) if meaning.relation else (False,),
            numerals,
            tuple(clauses),
        )
    )


def shortest_wording(meaning: Meaning) -> Wording:
    """The shortest wording of a meaning."""
    return Wording("bare", clauses=(False,) * len(meaning.groups))


def ordered_groups(meaning: Meaning, wording: Wording) -> list[tuple[Group, bool]]:
    """The groups in the order of a wording, each with whether a relative clause states its colour."""
    groups = list(zip(meaning.groups, wording.clauses, strict=True))
    return groups[::-1] if wording.second_first else groups
