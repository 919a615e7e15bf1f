"""English captions with German translations: a translation task whose correct answers are known.

A translation has the same wording as its original, so the original alone determines it. `german.captions` gives all other
German captions of the same meaning, and `parser.adequacy` scores how much of a meaning any text keeps.
"""

from collections.abc import Iterator
from functools import cached_property
from random import Random
from typing import ClassVar

from glasshouse.data.documents import SPLITS, Document
from glasshouse.data.sources.generated import GeneratedSource
from glasshouse.data.sources.scenes import english, entailment_rules, german
from glasshouse.data.sources.scenes.meaning import Meaning, split_of
from glasshouse.data.sources.scenes.wordings import wordings

SIZES = {"train": 8000, "validation": 500, "test": 500}
SEED = 2


class ScenesGerman(GeneratedSource):
    """Each document is an English caption; its target is the German caption.

    A meaning of a held-out split occurs only once, and in no other split.
    """

    about = "English captions of scenes and their German translations"
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def documents(self, split: str) -> Iterator[Document]:
        yield from self._documents_by_split[split]

    @cached_property
    def _documents_by_split(self) -> dict[str, list[Document]]:
        return {split: list(_captions(split)) for split in SPLITS}


def _captions(split: str) -> Iterator[Document]:
    seen: set[Meaning] = set()
    count = attempt = 0
    while count < SIZES[split]:
        generator = Random(f"{SEED} {split} {attempt}")
        attempt += 1
        meaning = entailment_rules.random_meaning(generator)
        if split_of(meaning) != split or (split != "train" and meaning in seen):
            continue
        seen.add(meaning)
        count += 1
        wording = generator.choice(wordings(meaning))
        yield Document(english.caption(meaning, wording), fields={"target": german.caption(meaning, wording)})
