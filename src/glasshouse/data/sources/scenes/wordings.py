"""The ways to say a meaning that both languages share, so that a caption and its translation are built alike.

Knows no word of either language.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from glasshouse.data.sources.scenes.meaning import Group, Meaning

# What surrounds the groups: "A above B", "there is A above B", "a picture of A above B", "A is above B", "above B is A",
# "A with B".
ALONE = ("bare", "there", "picture")
RELATED = (*ALONE, "verb", "inverted")
TOGETHER = (*ALONE, "with")


@dataclass(frozen=True)
class Wording:
    """One way: its frame, whether it begins with the second group, and finer choices."""

    frame: str
    turned: bool = False
    synonym: bool = False  # "over" for "above"
    numeral: bool = False  # "one" for "a"
    clauses: tuple[bool, ...] = (False,)  # for each group, "circles that are red" for "red circles"


@cache
def wordings(meaning: Meaning) -> tuple[Wording, ...]:
    """Every way to say a meaning."""
    alone = len(meaning.groups) == 1
    frames = ALONE if alone else RELATED if meaning.relation else TOGETHER
    numerals = (False, True) if any(group.count == 1 for group in meaning.groups) else (False,)
    clauses = product(*((False, True) if group.colour else (False,) for group in meaning.groups))
    return tuple(
        Wording(*choice)
        for choice in product(
            frames,
            (False,) if alone else (False, True),
            (False, True) if meaning.relation else (False,),
            numerals,
            tuple(clauses),
        )
    )


def plain(meaning: Meaning) -> Wording:
    """The shortest way."""
    return Wording("bare", clauses=(False,) * len(meaning.groups))


def placed(meaning: Meaning, wording: Wording) -> list[tuple[Group, bool]]:
    """The groups in the order in which a wording takes them, each with whether its colour comes in a clause."""
    found = list(zip(meaning.groups, wording.clauses, strict=True))
    return found[::-1] if wording.turned else found
