"""German captions with English translations: the pairs of `translations` in the other direction.

An entailment model for English can score these translations. German has one word for "a" and "one", so a correct translation
may differ from its reference in this word.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data.documents import Document
from glasshouse.data.sources.generated import GeneratedSource
from glasshouse.data.sources.scenes.translations import ScenesGerman


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
