"""English captions with German translations, and the other direction: translation tasks whose correct answers are known.

`captions.all_captions` gives all other captions of the same meaning, and `parser.adequacy` scores how much of a meaning any
text keeps. German has one word for "a" and "one", so a correct translation into English may differ from its reference in it.
"""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import ClassVar

from glasshouse.data.documents import Document, GeneratedSource
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
        return iter(_captions(split, SIZES[split]))


@cache
def _captions(split: str, size: int) -> tuple[Document, ...]:
    documents: list[Document] = []
    seen: set[Meaning] = set()
    attempt = 0
    while len(documents) < size:
        generator = Random(f"{SEED} {split} {attempt}")
        attempt += 1
        meaning = entailment.random_meaning(generator)
        if split_of(meaning) == split and (split == "train" or meaning not in seen):
            seen.add(meaning)
            wording = generator.choice(captions.wordings(meaning))
            target = captions.german(meaning, wording)
            documents.append(Document(captions.english(meaning, wording), fields={"target": target}))
    return tuple(documents)


class GermanScenes(GeneratedSource):
    """Each document is a German caption; its target is the English caption. Order and splits are those of `ScenesGerman`."""

    about = "German captions of scenes and their English translations"
    columns: ClassVar[tuple[str, ...]] = ("target",)

    def documents(self, split: str) -> Iterator[Document]:
        for document in ScenesGerman().documents(split):
            yield Document(document.fields["target"], fields={"target": document.text})

    def fingerprint(self) -> str:
        return f"turned round: {ScenesGerman().fingerprint()}"
