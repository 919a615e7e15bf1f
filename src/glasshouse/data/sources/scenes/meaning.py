"""What a scene or a caption means: groups of things, each with a kind, a count and a colour, and where they stand.

Knows nothing of words or of pixels. Which split a meaning belongs to is decided here, once for every source of scenes: a
meaning that is held out of one is held out of all.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from itertools import product

SHAPES = ("circle", "square", "triangle", "star", "diamond")
FISH = ("goldfish", "nemo", "tang", "shark")
# A kind of kinds -> its members. Captions may say these; a drawn scene has none.
GENERAL = {"shape": SHAPES, "fish": FISH}
# Of shapes alone: a fish has the colours of its kind.
COLOURS = ("red", "blue", "green", "yellow", "purple")
COUNTS = (1, 2, 3, 4)
# A count that a caption leaves open: more than one.
SOME = 0
# The first group is above, or left of, the second. Below and right are said of the same meanings from the other end.
RELATIONS = ("above", "left")
# Shares of all meanings that are held out, in per mille.
HELD_OUT = {"validation": 50, "test": 50}


@dataclass(frozen=True, order=True)
class Group:
    """Things of one kind. A colour "" is one that is not said, or a fish's own."""

    kind: str
    count: int
    colour: str = ""

    @property
    def coloured(self) -> bool:
        """Whether such things can have a colour said of them."""
        return self.kind == "shape" or self.kind in SHAPES


@dataclass(frozen=True)
class Meaning:
    """One group or two of different kinds; a relation "" is one that is not said, and then neither group comes first."""

    groups: tuple[Group, ...]
    relation: str = ""

    def __post_init__(self) -> None:
        if not self.relation:
            object.__setattr__(self, "groups", tuple(sorted(self.groups)))

    @property
    def key(self) -> str:
        """The meaning as a line of text, the same for the same meaning and no other."""
        return f"{self.relation}|" + "|".join(f"{group.count} {group.colour} {group.kind}" for group in self.groups)


@cache
def groups() -> tuple[Group, ...]:
    """Every group that can be drawn."""
    shapes = (Group(kind, count, colour) for kind, count, colour in product(SHAPES, COUNTS, COLOURS))
    return (*shapes, *(Group(kind, count) for kind, count in product(FISH, COUNTS)))


@cache
def scenes() -> tuple[Meaning, ...]:
    """Every scene that can be drawn: all that a picture shows is said. Those of one group come first."""
    alone = tuple(Meaning((group,)) for group in groups())
    pairs = ((first, second) for first, second in product(groups(), groups()) if first.kind != second.kind)
    return (*alone, *(Meaning(pair, relation) for pair, relation in product(pairs, RELATIONS)))


def home(meaning: Meaning) -> str:
    """The split that a meaning belongs to, by a digest of it."""
    place = int.from_bytes(hashlib.blake2b(meaning.key.encode(), digest_size=8).digest(), "big") % 1000
    for split, share in HELD_OUT.items():
        if place < share:
            return split
        place -= share
    return "train"
