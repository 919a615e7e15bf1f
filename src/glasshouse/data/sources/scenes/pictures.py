"""Pictures of scenes with their captions, for learning which text goes with which picture."""

import hashlib
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import ClassVar

from glasshouse.data.documents import SPLITS, Document
from glasshouse.data.sources.generated import Generated
from glasshouse.data.sources.scenes import english
from glasshouse.data.sources.scenes.meaning import FISH, SHAPES, Group, Meaning, home, scenes
from glasshouse.data.sources.scenes.rendering import SIZE, draw
from glasshouse.data.sources.scenes.wordings import wordings
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

SIZES = {"train": 8000, "validation": 500, "test": 500}
# Share of training scenes that have one group: there are few different ones, and they teach the words.
ALONE = 0.2
SEED = 0
# Pixels along each side below which the things of a scene do not fit into it.
SMALLEST = 24


class Scenes(Generated):
    """A caption and a picture a document. No scene of a held-out split is in another, and there each is different."""

    about = "drawn pictures of counted shapes and fish, with captions"
    columns: ClassVar[tuple[str, ...]] = ("picture",)

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self._made: dict[str, list[Document]] = {}

    @classmethod
    def of(cls, data: DataSpec) -> "Scenes":
        if data.picture_size < SMALLEST:
            raise DataError(
                "picture-too-small",
                f"data.picture_size={data.picture_size} has no room for a scene; choose {SMALLEST} or more",
            )
        return cls(data.picture_size)

    def documents(self, split: str) -> Iterator[Document]:
        if split not in self._made:
            self._made[split] = [document(split, index, self.size) for index in range(SIZES[split])]
        yield from self._made[split]

    def fingerprint(self) -> str:
        kinds = (draw(Meaning((Group(kind, 1, "red"),)), Random(SEED), self.size) for kind in (*SHAPES, *FISH))
        drawn = hashlib.blake2b(b"".join(picture.tobytes() for picture in kinds), digest_size=8)
        return f"scenes 1 {SIZES} {ALONE} {drawn.hexdigest()}"


def document(split: str, index: int, size: int = SIZE) -> Document:
    """One scene of a split, drawn and described."""
    chance = Random(f"{SEED} {split} {index}")
    meaning = _meaning(split, index, chance)
    return Document(english.caption(meaning, chance.choice(wordings(meaning))), picture=draw(meaning, chance, size))


def _meaning(split: str, index: int, chance: Random) -> Meaning:
    """Which scene: any of the training split, those of a group alone more often; each of a held-out split once."""
    alone, pairs = _homes()[split]
    if split == "train":
        return chance.choice(alone if chance.random() < ALONE else pairs)
    return (*alone, *pairs)[index]


@cache
def _homes() -> dict[str, tuple[list[Meaning], list[Meaning]]]:
    """The scenes of each split, of one group and of two, in an order of no meaning."""
    found: dict[str, tuple[list[Meaning], list[Meaning]]] = {split: ([], []) for split in SPLITS}
    for meaning in scenes():
        found[home(meaning)][len(meaning.groups) - 1].append(meaning)
    for alone, pairs in found.values():
        Random(SEED).shuffle(alone)
        Random(SEED).shuffle(pairs)
    return found
