"""Generated texts that fill a context exactly, labelled by what stands in them: the recall task, and word order.

Recall: a text names animals with their colours, continues with noise, and asks for one colour. The label depends only on the
beginning of the text, so the context length is the distance that a model must bridge.

Word order: which of two animals is named first? And its control: which of them is named twice? Every text comes with a
second one in which the two animals have changed places. Where the first one is asked for, both texts have the same words and
different labels, so a model that does not know the order of words is right on exactly one of the two.
"""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from random import Random
from typing import ClassVar

from glasshouse.data.documents import Document, GeneratedSource
from glasshouse.specs.errors import DataError

KEYS = ["bear", "crow", "deer", "fox", "goat", "hare", "lion", "wolf"]
VALUES = ["black", "blue", "brown", "green", "grey", "red", "white", "yellow"]
NOISE = "and but by far for how in late near now of on or so then there to well when yet".split()  # noqa: SIM905
PAIRS = 4
# The animals are all within this share of the text, counted from its beginning.
BEGINNING = 0.25
ANIMALS = ("fox", "hare")
SEEDS = {"train": 0, "validation": 1, "test": 2}


class ContextTexts(GeneratedSource):
    """Each document is a text of exactly `data.context` words with a label. All texts are distinct."""

    columns: ClassVar[tuple[str, ...]] = ("label",)
    spec_fields: ClassVar[tuple[str, ...]] = ("context",)
    counts: ClassVar[dict[str, int]]
    shortest: ClassVar[int]

    def __init__(self, context: int) -> None:
        if context < self.shortest:
            problem = f"is too short for the texts of this data set; choose {self.shortest} or more"
            raise DataError(problem, "data.context", context)
        self.context = context

    @abstractmethod
    def random_texts(self, generator: Random) -> list[Document]:
        """Texts that belong together. They are in the same split."""

    def documents(self, split: str) -> Iterator[Document]:
        return iter(self._splits[split])

    @cached_property
    def _splits(self) -> dict[str, list[Document]]:
        """The documents of all splits. Texts that occurred before are replaced by new ones."""
        seen: set[str] = set()
        splits: dict[str, list[Document]] = {}
        for split, count in self.counts.items():
            generator = Random(SEEDS[split])
            documents = splits[split] = []
            while len(documents) < count:
                texts = self.random_texts(generator)
                if seen.isdisjoint(document.text for document in texts):
                    seen.update(document.text for document in texts)
                    documents += texts
        return splits


class Recall(ContextTexts):
    """The label is the colour of the animal in the question.

    An animal and its colour form one word (`red_fox`). As two words, they would first have to be combined, which a small
    model did not learn from this many texts, even over a short distance.
    """

    about = "recall: which colour did an animal have, a whole context ago?"
    counts: ClassVar[dict[str, int]] = {"train": 8000, "validation": 500, "test": 500}
    shortest = PAIRS + 2

    def random_texts(self, generator: Random) -> list[Document]:
        keys, values = generator.sample(KEYS, PAIRS), generator.sample(VALUES, PAIRS)
        queried = generator.randrange(PAIRS)
        words = generator.choices(NOISE, k=self.context - 2)
        places = generator.sample(range(max(PAIRS, int(self.context * BEGINNING))), PAIRS)
        for place, key, value in zip(places, keys, values, strict=True):
            words[place] = f"{value}_{key}"
        return [Document(" ".join([*words, keys[queried], "?"]), fields={"label": values[queried]})]


class AnimalTexts(ContextTexts):
    """Two animals among noise, and the same text with the animals swapped. Each is labelled by one of them."""

    # Half of the texts are the second ones.
    counts: ClassVar[dict[str, int]] = {"train": 4000, "validation": 500, "test": 500}
    shortest = 8  # A shorter context would have too few different texts.

    @abstractmethod
    def animals(self, label: str, other: str, generator: Random) -> list[str]:
        """The animals of a text with this label, in their order."""

    def random_texts(self, generator: Random) -> list[Document]:
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
    about = "word order: which of two animals is named first?"

    def animals(self, label: str, other: str, generator: Random) -> list[str]:
        return [label, other]


class WordCount(AnimalTexts):
    about = "word count: which of two animals is named twice?"

    def animals(self, label: str, other: str, generator: Random) -> list[str]:
        return generator.sample([label, label, other], 3)
