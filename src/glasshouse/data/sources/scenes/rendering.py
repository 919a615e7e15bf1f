"""A scene as a picture: every group in its part of it, its things at random places that do not overlap."""

from random import Random

import numpy as np

from glasshouse.data.sources.scenes.meaning import Group, Meaning
from glasshouse.data.sources.scenes.sprites import sprite

SIZE = 32
# Widths of a thing and what its height is to its width, for a picture of the usual size.
WIDTHS = {"shape": (7, 8), "fish": (10, 11)}
HEIGHTS = {"shape": 1.0, "fish": 0.62}
# How often, and at how many random places, room is sought before the things are set in rows.
ROUNDS, TRIES = 12, 24

# Left, top, right, bottom.
Box = tuple[int, int, int, int]


def draw(meaning: Meaning, chance: Random, size: int = SIZE) -> np.ndarray:
    """The picture (size, size, 3) of a scene in bytes; the same for the same state of chance."""
    shade = chance.uniform(222, 250)
    paper = [shade - chance.uniform(0, 14), shade - chance.uniform(0, 6), shade]
    picture = np.tile(np.array(paper, np.float32), (size, size, 1))
    for group, region in zip(meaning.groups, _regions(meaning.relation, size), strict=False):
        for left, top, right, bottom in _layout(group, region, chance, size):
            thing = sprite(group.kind, group.colour, right - left, bottom - top)
            if not group.coloured and chance.random() < 0.5:
                thing = thing[:, ::-1]  # a fish swims either way
            under = picture[top:bottom, left:right]
            picture[top:bottom, left:right] = thing[..., :3] + (1 - thing[..., 3:]) * under
    return picture.round().clip(0, 255).astype(np.uint8)


def _regions(relation: str, size: int) -> list[Box]:
    """Where the first group goes, and the second."""
    half = size // 2
    if relation == "above":
        return [(0, 0, size, half), (0, half, size, size)]
    if relation == "left":
        return [(0, 0, half, size), (half, 0, size, size)]
    return [(0, 0, size, size)]


def _layout(group: Group, region: Box, chance: Random, size: int) -> list[Box]:
    """A box for each thing of a group, within the region."""
    family = "shape" if group.coloured else "fish"
    for _ in range(ROUNDS):
        boxes: list[Box] = []
        for _ in range(TRIES):
            width = round(chance.choice(WIDTHS[family]) * size / SIZE)
            height = round(width * HEIGHTS[family])
            left = chance.randint(region[0], region[2] - width)
            top = chance.randint(region[1], region[3] - height)
            box = (left, top, left + width, top + height)
            if not any(_touch(box, other) for other in boxes):
                boxes.append(box)
                if len(boxes) == group.count:
                    return boxes
    return _rows(group, region, family, size)


def _rows(group: Group, region: Box, family: str, size: int) -> list[Box]:
    """The things in rows from the upper left corner on, where chance found no room for them."""
    width = round(WIDTHS[family][0] * size / SIZE)
    height = round(width * HEIGHTS[family])
    across = (region[2] - region[0]) // (width + 1)
    places = [(index % across, index // across) for index in range(group.count)]
    corners = [(region[0] + column * (width + 1), region[1] + row * (height + 1)) for column, row in places]
    return [(left, top, left + width, top + height) for left, top in corners]


def _touch(one: Box, other: Box) -> bool:
    """Whether two boxes have no pixel between them."""
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
