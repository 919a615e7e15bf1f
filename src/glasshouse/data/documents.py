"""A document, and a source of documents. Knows nothing of tokens."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from glasshouse.specs.spec import DataSpec

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Document:
    """A text with its metadata. A long text comes in several parts; all parts after the first have `continues=True`."""

    text: str
    continues: bool = False
    fields: dict[str, str] = field(default_factory=dict)
    picture: np.ndarray | None = None  # (S, S, 3), uint8


class Source(ABC):
    """A data set: documents in splits. Every reading gives the same documents, and no document is in two splits."""

    # What a document has besides its text, in `fields`: "label" (its class), "labels" (its classes, joined by "|"), "value"
    # (a number), "tags" (of its words, which single spaces separate), "second" (the second text of a pair), "target" (its
    # translation); or a "picture". Tasks request these by name.
    columns: ClassVar[tuple[str, ...]] = ()
    # A source may add splits named "test-NAME": parts of the test split that are also evaluated separately.
    splits: ClassVar[tuple[str, ...]] = SPLITS
    about: ClassVar[str]
    origin: ClassVar[str]
    licence: ClassVar[str]
    # Called with what is being read and the share of it that is done. A source that takes long to read calls it.
    progress: Callable[[str, float], None] = staticmethod(lambda what, share: None)

    @classmethod
    def from_spec(cls, data: DataSpec) -> "Source":
        """Create the source with the settings of a data spec. Most sources have no settings."""
        return cls()

    @abstractmethod
    def documents(self, split: str) -> Iterator[Document]:
        """The documents of a split in a fixed order, in parts small enough to fit into memory."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that changes whenever the documents or their splits change."""

    def tokenizer_documents(self) -> Iterator[Document]:
        """The documents to train a tokenizer on: by default the training split. It never includes held-out documents."""
        return self.documents("train")

    def notes(self) -> list[str]:
        """Remarks about the documents for the user."""
        return []

    def bytes(self, split: str) -> int:
        """The size of a split's text in UTF-8 bytes, for progress bars. It may be an estimate."""
        return sum(len(document.text.encode()) for document in self.documents(split))
