"""Pictures of scenes with captions, for learning which text belongs to which picture."""

import hashlib
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import ClassVar

import numpy as np

from glasshouse.data.documents import SPLITS, Document, GeneratedSource
from glasshouse.data.sources.scenes import captions
from glasshouse.data.sources.scenes.drawing import SIZE, draw_scene
from glasshouse.data.sources.scenes.meaning import FISH, SHAPES, Group, Meaning, all_scenes, split_of
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

SIZES = {"train": 8000, "validation": 500, "test": 500}
# The share of training scenes with a single group. Few different ones exist, but they teach the words.
SINGLE_GROUP_SHARE = 0.2
SEED = 0
# In pixels per side. The objects of a scene do not fit into a smaller picture.
SMALLEST = 24
# The brightness of a blank picture, from 0 to 255.
BLANK = 128


class Scenes(GeneratedSource):
    """Each document is a caption with a picture. The scenes of a held-out split are distinct and occur in no other split."""

    about = "drawn pictures of counted shapes and fish, with captions"
    columns: ClassVar[tuple[str, ...]] = ("picture",)

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self._documents_by_split: dict[str, list[Document]] = {}

    @classmethod
    def from_spec(cls, data: DataSpec) -> "Scenes":
        if data.picture_size < SMALLEST:
            raise DataError(f"is too small for a scene; choose {SMALLEST} or more", "data.picture_size", data.picture_size)
        return cls(data.picture_size)

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
