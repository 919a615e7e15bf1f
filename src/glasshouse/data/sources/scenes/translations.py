"""English captions with their German translations, for learning to translate with a known answer.

A translation is built as its original is, so that it follows from the original alone. `german.captions` gives every other
German wording of the same meaning, and `parsing.adequacy` says how much of a meaning any text keeps.
"""

from collections.abc import Iterator
from functools import cached_property
from random import Random
from typing import ClassVar

from glasshouse.data.documents import SPLITS, Document
from glasshouse.data.sources.generated import Generated
from glasshouse.data.sources.scenes import english, entailment_rules, german
from glasshouse.data.sources.scenes.meaning import Meaning, home
from glasshouse.data.sources.scenes.wordings import wordings

SIZES = {"train": 8000, "validation": 500, "test": 500}
SEED = 2


class ScenesGerman(Generated):
    """A caption a document; no meaning of a held-out split occurs in another, and in those each occurs once."""

    about = "English captions of scenes and their German translations"
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def documents(self, split: str) -> Iterator[Document]:
        yield from self._all[split]

    @cached_property
    def _all(self) -> dict[str, list[Document]]:
        return {split: list(_captions(split)) for split in SPLITS}


def _captions(split: str) -> Iterator[Document]:
    seen: set[Meaning] = set()
    found = number = 0
    while found < SIZES[split]:
        chance = Random(f"{SEED} {split} {number}")
        number += 1
        meaning = entailment_rules.described(chance)
        if home(meaning) != split or (split != "train" and meaning in seen):
            continue
        seen.add(meaning)
        found += 1
        way = chance.choice(wordings(meaning))
        yield Document(english.caption(meaning, way), fields={"target": german.caption(meaning, way)})
