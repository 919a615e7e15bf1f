"""The recall task, generated: a text names animals with their colours, continues with noise, and asks for one colour.

The label depends only on the beginning of the text, so the context length is the distance that a model must bridge. An
animal and its colour form one word (`red_fox`). As two words, they would first have to be combined, which a small model did
not learn from this many texts, even over a short distance.
"""

import random
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data.documents import Document
from glasshouse.data.sources.generated import GeneratedSource
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

KEYS = ["bear", "crow", "deer", "fox", "goat", "hare", "lion", "wolf"]
VALUES = ["black", "blue", "brown", "green", "grey", "red", "white", "yellow"]
NOISE = "and but by far for how in late near now of on or so then there to well when yet".split()  # noqa: SIM905
PAIRS = 4
# The animals are all within this share of the text, counted from its beginning.
BEGINNING = 0.25
COUNTS = {"train": 8000, "validation": 500, "test": 500}
SEEDS = {"train": 0, "validation": 1, "test": 2}


class Recall(GeneratedSource):
    """Each document is a text of exactly `data.context` words, labelled by the colour of the animal in its question."""

    about = "recall: which colour did an animal have, a whole context ago?"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, context: int) -> None:
        shortest = PAIRS + 2
        if context < shortest:
            raise DataError(
                f"is too short for the data set 'recall', whose texts contain {PAIRS} animals and a question; set "
                f"data.context to {shortest} or more",
                "data.context",
                context,
            )
        self.context = context

    @classmethod
    def from_spec(cls, data: DataSpec) -> "Recall":
        return cls(data.context)

    def documents(self, split: str) -> Iterator[Document]:
        return iter(self._splits[split])

    @cached_property
    def _splits(self) -> dict[str, list[Document]]:
        """The documents of all splits. A text that occurred before is replaced by a new one, so all texts are distinct."""
        seen: set[str] = set()
        splits = {}
        for split, count in COUNTS.items():
            generator = random.Random(SEEDS[split])
            documents: list[Document] = []
            while len(documents) < count:
                document = self._random_document(generator)
                if document.text not in seen:
                    seen.add(document.text)
                    documents.append(document)
            splits[split] = documents
        return splits

    def _random_document(self, generator: random.Random) -> Document:
        keys, values = generator.sample(KEYS, PAIRS), generator.sample(VALUES, PAIRS)
        queried = generator.randrange(PAIRS)
        words = generator.choices(NOISE, k=self.context - 2)
        places = generator.sample(range(max(PAIRS, int(self.context * BEGINNING))), PAIRS)
        for place, key, value in zip(places, keys, values, strict=True):
            words[place] = f"{value}_{key}"
        return Document(" ".join([*words, keys[queried], "?"]), fields={"label": values[queried]})
