"""German captions with their English translations: the pairs of `translations` turned round, for a judge of English.

German has one word for "a" and "one", so that a translation may differ from its reference in this word and mean the same.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data.documents import Document
from glasshouse.data.sources.generated import Generated
from glasshouse.data.sources.scenes.translations import ScenesGerman


class GermanScenes(Generated):
    """A caption a document, in the order and the splits of its English counterpart."""

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
