"""The recall task: some animals are named with their colour, much noise follows, one is asked for. Which colour was it?

Generated. Only what stands at the beginning of a text tells its label, so that the context is the distance to bridge. An
animal and its colour are one word (`red_fox`): as two words they must first be brought together, which a small model did not
learn from this many texts even over a short distance.
"""

import random
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data.documents import Document
from glasshouse.data.sources.generated import Generated
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

KEYS = ["bear", "crow", "deer", "fox", "goat", "hare", "lion", "wolf"]
VALUES = ["black", "blue", "brown", "green", "grey", "red", "white", "yellow"]
NOISE = "and but by far for how in late near now of on or so then there to well when yet".split()  # noqa: SIM905
PAIRS = 4
# The share of the text, at its beginning, that the animals are spread over.
BEGINNING = 0.25
COUNTS = {"train": 8000, "validation": 500, "test": 500}
SEEDS = {"train": 0, "validation": 1, "test": 2}


class Recall(Generated):
    """A text of exactly `data.context` words a document, labelled by the colour of the animal that is asked for."""

    about = "recall: which colour did an animal have, a whole context ago?"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, context: int) -> None:
        least = PAIRS + 2
        if context < least:
            raise DataError(
                "context-too-short",
                f"a text of the data set 'recall' has {PAIRS} animals and a question, but data.context={context}; "
                f"set data.context to {least} or more",
            )
        self.context = context

    @classmethod
    def of(cls, data: DataSpec) -> "Recall":
        return cls(data.context)

    def documents(self, split: str) -> Iterator[Document]:
        return iter(self._splits[split])

    @cached_property
    def _splits(self) -> dict[str, list[Document]]:
        """Drawn split after split; a text that stands in an earlier one is drawn again."""
        known: set[str] = set()
        splits = {}
        for split, count in COUNTS.items():
            draw = random.Random(SEEDS[split])
            found: list[Document] = []
            while len(found) < count:
                document = self._drawn(draw)
                if document.text not in known:
                    known.add(document.text)
                    found.append(document)
            splits[split] = found
        return splits

    def _drawn(self, draw: random.Random) -> Document:
        keys, values = draw.sample(KEYS, PAIRS), draw.sample(VALUES, PAIRS)
        asked = draw.randrange(PAIRS)
        words = draw.choices(NOISE, k=self.context - 2)
        places = draw.sample(range(max(PAIRS, int(self.context * BEGINNING))), PAIRS)
        for place, key, value in zip(places, keys, values, strict=True):
            words[place] = f"{value}_{key}"
        return Document(" ".join([*words, keys[asked], "?"]), fields={"label": values[asked]})
