"""Pictures of scenes with captions, for learning which text belongs to which picture.

Every group is drawn in its region of the picture, its objects at random places without overlap. An object is a sprite: a
small image with transparency, drawn large and averaged down. A shape is one outline. A fish is a stack of coloured parts.
Coordinates within a sprite are fractions of its width and height, from its upper left corner.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import ClassVar

import numpy as np
from PIL import Image, ImageDraw

from glasshouse.data.documents import SPLITS, Document, GeneratedSource
from glasshouse.data.sources.scenes import captions
from glasshouse.data.sources.scenes.meaning import FISH, SHAPES, Group, Meaning, all_scenes, split_of
from glasshouse.specs.errors import DataError

SIZE = 32
# The possible widths of an object in a picture of the default size, and its height relative to its width.
WIDTHS = {"shape": (7, 8), "fish": (10, 11)}
HEIGHTS = {"shape": 1.0, "fish": 0.62}
# The maximum number of random layouts, and of random places in each, before the objects are put in rows.
MAX_LAYOUTS, MAX_PLACES = 12, 24
# Each pixel is the mean of this many pixels squared, which gives smooth edges.
SUPERSAMPLING = 8

SIZES = {"train": 8000, "validation": 500, "test": 500}
# The share of training scenes with a single group. Few different ones exist, but they teach the words.
SINGLE_GROUP_SHARE = 0.2
SEED = 0
# In pixels per side. The objects of a scene do not fit into a smaller picture.
SMALLEST = 24
# The brightness of a blank picture, from 0 to 255.
BLANK = 128

# Left, top, right, bottom.
Box = tuple[int, int, int, int]
Colour = tuple[int, int, int]

COLOURS: dict[str, Colour] = {
    "red": (214, 38, 44),
    "blue": (40, 84, 214),
    "green": (34, 150, 62),
    "yellow": (236, 200, 20),
    "purple": (146, 48, 186),
}
GOLD, AMBER = (255, 178, 20), (240, 130, 0)
ORANGE, WHITE, BLACK = (244, 84, 8), (255, 255, 255), (16, 16, 20)
ROYAL, LEMON = (24, 60, 196), (250, 214, 30)
GREY, PALE = (104, 116, 130), (206, 214, 222)


# The forms of a sprite's parts: the points of a polygon, the box of an ellipse, and a vertical band from left to right that
# colours whatever has been drawn so far.
POLYGON, ELLIPSE, BAND = "polygon", "ellipse", "band"
_STAR = [
    number
    for angle, radius in zip(np.arange(10) * np.pi / 5, np.where(np.arange(10) % 2, 0.19, 0.53), strict=True)
    for number in (0.5 + radius * np.sin(angle), 0.53 - radius * np.cos(angle))
]
# Kind -> its parts from the back: a form, its coordinates, and its colour; None is the colour of the group.
SPRITES: dict[str, list[tuple[str, Sequence[float], Colour | None]]] = {
    "circle": [(ELLIPSE, (0, 0, 1, 1), None)],
    "square": [(POLYGON, (0.06, 0.06, 0.94, 0.06, 0.94, 0.94, 0.06, 0.94), None)],
    "triangle": [(POLYGON, (0.5, 0, 1, 0.98, 0, 0.98), None)],
    "star": [(POLYGON, _STAR, None)],
    "diamond": [(POLYGON, (0.5, 0, 0.9, 0.5, 0.5, 1, 0.1, 0.5), None)],
    "goldfish": [
        (POLYGON, (0.6, 0.5, 1, 0, 0.88, 0.5, 1, 1), AMBER),
        (POLYGON, (0.2, 0.3, 0.45, 0, 0.62, 0.3), AMBER),
        (ELLIPSE, (0, 0.14, 0.76, 0.92), GOLD),
        (ELLIPSE, (0.12, 0.34, 0.24, 0.54), BLACK),
    ],
    "nemo": [
        (ELLIPSE, (0.68, 0.2, 1, 0.8), ORANGE),
        (ELLIPSE, (0, 0.06, 0.82, 0.94), ORANGE),
        (BAND, (0.22 - 0.03, 0.37 + 0.03), BLACK),
        (BAND, (0.22, 0.37), WHITE),
        (BAND, (0.6 - 0.03, 0.74 + 0.03), BLACK),
        (BAND, (0.6, 0.74), WHITE),
        (BAND, (0.95, 1), BLACK),
        (ELLIPSE, (0.06, 0.32, 0.16, 0.5), BLACK),
    ],
    "tang": [
        (POLYGON, (0.66, 0.5, 1, 0.05, 1, 0.95), LEMON),
        (ELLIPSE, (0, 0.02, 0.8, 0.98), ROYAL),
        (ELLIPSE, (0.24, 0.3, 0.74, 0.62), BLACK),
        (ELLIPSE, (0.1, 0.3, 0.2, 0.46), WHITE),
    ],
    "shark": [
        (POLYGON, (0.78, 0.6, 1, 0.08, 0.94, 0.6, 1, 0.96), GREY),
        (POLYGON, (0.34, 0.4, 0.56, 0, 0.6, 0.4), GREY),
        (ELLIPSE, (0, 0.3, 0.92, 0.9), GREY),
        (POLYGON, (0.08, 0.68, 0.46, 0.66, 0.74, 0.7, 0.44, 0.9), PALE),
        (ELLIPSE, (0.12, 0.42, 0.19, 0.54), BLACK),
    ],
}


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
    half = size // 2
    if relation == "above":
        return [(0, 0, size, half), (0, half, size, size)]
    if relation == "left":
        return [(0, 0, half, size), (half, 0, size, size)]
    return [(0, 0, size, size)]


def _layout(group: Group, region: Box, generator: Random, size: int) -> list[Box]:
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


@cache
def sprite(kind: str, colour: str, width: int, height: int) -> np.ndarray:
    """An image (height, width, 4): premultiplied red, green and blue from 0 to 255, and opacity from 0 to 1."""
    size = (width * SUPERSAMPLING, height * SUPERSAMPLING)
    image = Image.new("RGBA", size)
    for form, numbers, part_colour in SPRITES[kind]:
        fill = (*(part_colour or COLOURS[colour]), 255)
        if form == POLYGON:
            points = zip(numbers[::2], numbers[1::2], strict=True)
            ImageDraw.Draw(image).polygon([(x * size[0], y * size[1]) for x, y in points], fill=fill)
        elif form == ELLIPSE:
            left, top, right, bottom = numbers
            box = (left * size[0], top * size[1], right * size[0] - 1, bottom * size[1] - 1)
            ImageDraw.Draw(image).ellipse(box, fill=fill)
        else:
            band = Image.new("RGBA", size)
            ImageDraw.Draw(band).rectangle([numbers[0] * size[0], 0, numbers[1] * size[0] - 1, size[1]], fill=fill)
            image.paste(band, mask=Image.composite(image, band, band).getchannel("A"))
    pixels = np.asarray(image, np.float32)
    opacity = pixels[..., 3:] / 255
    weighted = np.concatenate([pixels[..., :3] * opacity, opacity], axis=-1)
    return weighted.reshape(height, SUPERSAMPLING, width, SUPERSAMPLING, 4).mean((1, 3))


class Scenes(GeneratedSource):
    """Each document is a caption with a picture. The scenes of a held-out split are distinct and occur in no other split."""

    about = "drawn pictures of counted shapes and fish, with captions"
    columns: ClassVar[tuple[str, ...]] = ("picture",)
    spec_fields: ClassVar[tuple[str, ...]] = ("picture_size",)

    def __init__(self, size: int = SIZE) -> None:
        if size < SMALLEST:
            raise DataError(f"is too small for a scene; choose {SMALLEST} or more", "data.picture_size", size)
        self.size = size
        self._documents_by_split: dict[str, list[Document]] = {}

    def documents(self, split: str) -> Iterator[Document]:
        if split not in self._documents_by_split:
            self._documents_by_split[split] = [make_document(split, index, self.size) for index in range(SIZES[split])]
        yield from self._documents_by_split[split]

    def fingerprint(self) -> str:
        samples = (draw_scene(Meaning((Group(kind, 1, "red"),)), Random(SEED), self.size) for kind in (*SHAPES, *FISH))
        digest = hashlib.blake2b(b"".join(picture.tobytes() for picture in samples), digest_size=8)
        return f"scenes 1 {SIZES} {SINGLE_GROUP_SHARE} {digest.hexdigest()}"


class UnseenScenes(Scenes):
    """The same captions with blank pictures: what can be said of a scene without seeing it?"""

    about = "captions of drawn scenes with blank pictures, as a control"

    def documents(self, split: str) -> Iterator[Document]:
        for document in super().documents(split):
            assert document.picture is not None
            yield Document(document.text, picture=np.full_like(document.picture, BLANK))

    def fingerprint(self) -> str:
        return f"blank {BLANK} {super().fingerprint()}"


def make_document(split: str, index: int, size: int = SIZE) -> Document:
    generator = Random(f"{SEED} {split} {index}")
    meaning = _choose_scene(split, index, generator)
    return Document(captions.random_english(meaning, generator), picture=draw_scene(meaning, generator, size))


def _choose_scene(split: str, index: int, generator: Random) -> Meaning:
    """A random scene of the training split, or the scene with this index in a held-out split, where each occurs once."""
    single, pairs = _scenes_by_split()[split]
    if split == "train":
        return generator.choice(single if generator.random() < SINGLE_GROUP_SHARE else pairs)
    return (*single, *pairs)[index]


@cache
def _scenes_by_split() -> dict[str, tuple[list[Meaning], list[Meaning]]]:
    """The scenes of each split, shuffled: those with one group, and those with two."""
    scenes: dict[str, tuple[list[Meaning], list[Meaning]]] = {split: ([], []) for split in SPLITS}
    for meaning in all_scenes():
        scenes[split_of(meaning)][len(meaning.groups) - 1].append(meaning)
    for single, pairs in scenes.values():
        Random(SEED).shuffle(single)
        Random(SEED).shuffle(pairs)
    return scenes
