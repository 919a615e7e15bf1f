"""English captions with German translations, and the other direction: translation tasks whose correct answers are known.

`captions.all_captions` gives all other captions of the same meaning, and `parser.adequacy` scores how much of a meaning any
text keeps. German has one word for "a" and "one", so a correct translation into English may differ from its reference in it.
"""

from collections.abc import Iterator
from functools import cached_property
from random import Random
from typing import ClassVar

from glasshouse.data.documents import SPLITS, Document, GeneratedSource
from glasshouse.data.sources.scenes import captions, entailment
from glasshouse.data.sources.scenes.meaning import Meaning, split_of

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
        meaning = entailment.random_meaning(generator)
        if split_of(meaning) != split or (split != "train" and meaning in seen):
            continue
        seen.add(meaning)
        count += 1
        wording = generator.choice(captions.wordings(meaning))
        yield Document(captions.english(meaning, wording), fields={"target": captions.german(meaning, wording)})


class GermanScenes(GeneratedSource):
    """Each document is a German caption; its target is the English caption. Order and splits are those of `ScenesGerman`."""

    about = "German captions of scenes and their English translations"
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def documents(self, split: str) -> Iterator[Document]:
        for document in self._forward.documents(split):
            yield Document(document.fields["target"], fields={"target": document.text})

    def fingerprint(self) -> str:
        return f"turned round: {self._forward.fingerprint()}"

    @cached_property
    def _forward(self) -> ScenesGerman:
        return ScenesGerman()
