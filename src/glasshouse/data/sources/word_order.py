"""Word order, generated: which of two animals is named first? And its control: which of them is named twice?

Every text comes with a second one in which the two animals have changed places. Where the first one is asked for, both texts
have the same words and different labels, so a model that does not know the order of words is right on exactly one of the
two. Where the one named twice is asked for, the order of words does not matter.
"""

import random
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data.documents import Document
from glasshouse.data.sources.generated import GeneratedSource
from glasshouse.data.sources.recall import NOISE
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

ANIMALS = ("fox", "hare")
# Texts of a split; half of them are the second ones.
COUNTS = {"train": 4000, "validation": 500, "test": 500}
SEEDS = {"train": 0, "validation": 1, "test": 2}
SHORTEST = 8


class AnimalTexts(GeneratedSource):
    """Each document is a text of exactly `data.context` words, two animals among noise, labelled by one of them."""

    columns: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, context: int) -> None:
        if context < SHORTEST:
            raise DataError(
                f"is too short for this data set, which would have too few different texts; set data.context to {SHORTEST}"
                " or more",
                "data.context",
                context,
            )
        self.context = context

    @classmethod
    def from_spec(cls, data: DataSpec) -> "AnimalTexts":
        return cls(data.context)

    @abstractmethod
    def animals(self, label: str, other: str, generator: random.Random) -> list[str]:
        """The animals of a text with this label, in their order."""

    def documents(self, split: str) -> Iterator[Document]:
        return iter(self._splits[split])

    @cached_property
    def _splits(self) -> dict[str, list[Document]]:
        """The documents of all splits. All texts are distinct, and a text is in the same split as its second one."""
        seen: set[str] = set()
        splits: dict[str, list[Document]] = {}
        for split, count in COUNTS.items():
            generator = random.Random(SEEDS[split])
            documents: list[Document] = []
            while len(documents) < count:
                pair = self._random_pair(generator)
                if not seen.intersection(document.text for document in pair):
                    seen.update(document.text for document in pair)
                    documents += pair
            splits[split] = documents
        return splits

    def _random_pair(self, generator: random.Random) -> list[Document]:
        animals = self.animals(*ANIMALS, generator)
        words = generator.choices(NOISE, k=self.context)
        places = sorted(generator.sample(range(self.context), len(animals)))
        pair = []
        for label, other in (ANIMALS, ANIMALS[::-1]):
            for place, animal in zip(places, animals, strict=True):
                words[place] = label if animal == ANIMALS[0] else other
            pair.append(Document(" ".join(words), fields={"label": label}))
        return pair


class WordOrder(AnimalTexts):
    """The label is the animal that is named first."""

    about = "word order: which of two animals is named first?"

    def animals(self, label: str, other: str, generator: random.Random) -> list[str]:
        return [label, other]


class WordCount(AnimalTexts):
    """The label is the animal that is named twice."""

    about = "word count: which of two animals is named twice?"

    def animals(self, label: str, other: str, generator: random.Random) -> list[str]:
        return generator.sample([label, label, other], 3)
