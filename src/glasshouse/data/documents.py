"""A document and a source of documents: what the rest of the data package reads. Knows nothing of tokens."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from glasshouse.specs.spec import DataSpec

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Document:
    """A text and what is known of it. A long text comes in parts, each after the first marked as continuing it."""

    text: str
    continues: bool = False
    fields: dict[str, str] = field(default_factory=dict)
    picture: np.ndarray | None = None  # (S, S, 3) bytes


class Source(ABC):
    """Somewhere documents come from. Reading twice gives the same; the splits never share a document."""

    # What a document has besides its text, by the names that tasks ask for: "label" and "target" (fields), "picture".
    columns: ClassVar[tuple[str, ...]] = ()
    # Besides the usual three there may be parts of the test text that are measured by themselves, as "test-NAME".
    splits: ClassVar[tuple[str, ...]] = SPLITS
    about: ClassVar[str]
    origin: ClassVar[str]
    licence: ClassVar[str]

    @classmethod
    def of(cls, data: DataSpec) -> "Source":
        """The source that a data spec asks for; most have nothing to ask."""
        return cls()

    @abstractmethod
    def documents(self, split: str) -> Iterator[Document]:
        """The documents of a split, in a fixed order, in parts small enough for any memory."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever the documents or their splits do."""

    def lexicon(self) -> Iterator[Document]:
        """What a tokenizer is trained on: the training documents, or more that is no part of the held-out splits."""
        return self.documents("train")

    def notes(self) -> list[str]:
        """What a person should know of these documents."""
        return []

    def bytes(self, split: str) -> int:
        """How much text a split has, in UTF-8 bytes, for progress bars."""
        return sum(len(document.text.encode()) for document in self.documents(split))
