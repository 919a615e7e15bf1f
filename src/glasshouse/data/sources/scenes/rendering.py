"""Drawing of scenes: every group in its region of the picture, its objects at random places without overlap."""

from random import Random

import numpy as np

from glasshouse.data.sources.scenes.meaning import Group, Meaning
from glasshouse.data.sources.scenes.sprites import sprite

SIZE = 32
# The possible widths of an object in a picture of the default size, and its height relative to its width.
WIDTHS = {"shape": (7, 8), "fish": (10, 11)}
HEIGHTS = {"shape": 1.0, "fish": 0.62}
# The maximum number of random layouts, and of random places in each, before the objects are put in rows.
MAX_LAYOUTS, MAX_PLACES = 12, 24

# Left, top, right, bottom.
Box = tuple[int, int, int, int]


def draw_scene(meaning: Meaning, generator: Random, size: int = SIZE) -> np.ndarray:
    """The picture of a scene, (size, size, 3) in uint8. It depends only on the meaning and the state of the generator."""
    shade = generator.uniform(222, 250)
    background = [shade - generator.uniform(0, 14), shade - generator.uniform(0, 6), shade]
    picture = np.tile(np.array(background, np.float32), (size, size, 1))
    for group, region in zip(meaning.groups, _regions(meaning.relation, size), strict=False):
        for left, top, right, bottom in _layout(group, region, generator, size):
            image = sprite(group.kind, group.colour, right - left, bottom - top)
            if not group.can_have_colour and generator.random() < 0.5:
                image = image[:, ::-1]  # a fish may face either way
            below = picture[top:bottom, left:right]
            picture[top:bottom, left:right] = image[..., :3] + (1 - image[..., 3:]) * below
    return picture.round().clip(0, 255).astype(np.uint8)


def _regions(relation: str, size: int) -> list[Box]:
    """The regions of the first and the second group."""
    half = size // 2
    if relation == "above":
        return [(0, 0, size, half), (0, half, size, size)]
    if relation == "left":
        return [(0, 0, half, size), (half, 0, size, size)]
    return [(0, 0, size, size)]


def _layout(group: Group, region: Box, generator: Random, size: int) -> list[Box]:
    """A box within the region for each object of a group."""
    family = "shape" if group.can_have_colour else "fish"
    for _ in range(MAX_LAYOUTS):
        boxes: list[Box] = []
        for _ in range(MAX_PLACES):
            width = round(generator.choice(WIDTHS[family]) * size / SIZE)
            height = round(width * HEIGHTS[family])
            left = generator.randint(region[0], region[2] - width)
            top = generator.randint(region[1], region[3] - height)
            box = (left, top, left + width, top + height)
            if not any(_touch(box, other) for other in boxes):
                boxes.append(box)
                if len(boxes) == group.count:
                    return boxes
    return _rows(group, region, family, size)


def _rows(group: Group, region: Box, family: str, size: int) -> list[Box]:
    """Boxes in rows from the upper left corner, for objects that did not fit at random places."""
    width = round(WIDTHS[family][0] * size / SIZE)
    height = round(width * HEIGHTS[family])
    columns = (region[2] - region[0]) // (width + 1)
    places = [(index % columns, index // columns) for index in range(group.count)]
    corners = [(region[0] + column * (width + 1), region[1] + row * (height + 1)) for column, row in places]
    return [(left, top, left + width, top + height) for left, top in corners]


def _touch(one: Box, other: Box) -> bool:
    """Whether there is no free pixel between two boxes."""
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
