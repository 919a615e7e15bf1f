"""The meaning of a scene or a caption: groups of objects, each with a kind, a count and a colour, and a relation.

Knows nothing of words or pixels. The split of a meaning is also decided here, once for all sources of scenes: a meaning that
is held out of one source is held out of all of them.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from glasshouse.data.splits import split_by_digest

SHAPES = ("circle", "square", "triangle", "star", "diamond")
FISH = ("goldfish", "nemo", "tang", "shark")
# A category -> its kinds. Captions may name a category; a drawn scene contains only specific kinds.
CATEGORIES = {"shape": SHAPES, "fish": FISH}
# Only shapes have these. The colours of a fish follow from its kind.
COLOURS = ("red", "blue", "green", "yellow", "purple")
COUNTS = (1, 2, 3, 4)
# A count that a caption leaves open: more than one.
SOME = 0
# The first group is above, or left of, the second. "Below" and "right of" describe the same meanings from the second group.
RELATIONS = ("above", "left")
# The share of all meanings in each held-out split, in per mille.
HELD_OUT = {"validation": 50, "test": 50}


@dataclass(frozen=True, order=True)
class Group:
    """Objects of one kind or category. The colour is "" if it is not stated or if the objects are fish."""

    kind: str
    count: int
    colour: str = ""

    @property
    def can_have_colour(self) -> bool:
        return self.kind == "shape" or self.kind in SHAPES


@dataclass(frozen=True)
class Meaning:
    """One group, or two of different kinds. If the relation is not stated (""), the groups have no order and are sorted."""

    groups: tuple[Group, ...]
    relation: str = ""

    def __post_init__(self) -> None:
        if not self.relation:
            object.__setattr__(self, "groups", tuple(sorted(self.groups)))

    @property
    def key(self) -> str:
        return f"{self.relation}|" + "|".join(f"{group.count} {group.colour} {group.kind}" for group in self.groups)


@cache
def all_groups() -> tuple[Group, ...]:
    shapes = (Group(kind, count, colour) for kind, count, colour in product(SHAPES, COUNTS, COLOURS))
    return (*shapes, *(Group(kind, count) for kind, count in product(FISH, COUNTS)))


@cache
def all_scenes() -> tuple[Meaning, ...]:
    """The complete meaning of every scene that can be drawn. Scenes with one group come first."""
    single = tuple(Meaning((group,)) for group in all_groups())
    pairs = ((first, second) for first, second in product(all_groups(), all_groups()) if first.kind != second.kind)
    return (*single, *(Meaning(pair, relation) for pair, relation in product(pairs, RELATIONS)))


def split_of(meaning: Meaning) -> str:
    return split_by_digest(meaning.key, HELD_OUT, 1000)
