"""Paragraphs of the State of the Union addresses, labelled by president. The addresses ship with the package."""

from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.state_of_the_union import StateOfTheUnion

# In characters. Shorter paragraphs ("Thank you.") reveal little about the speaker.
SHORTEST = 80


class Presidents(Source):
    """Each document is a paragraph. Whole addresses are held out, so no held-out paragraph has a neighbour in training."""

    about = "paragraphs of State of the Union addresses, labelled by president"
    origin = StateOfTheUnion.origin
    licence = StateOfTheUnion.licence
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self) -> None:
        self.addresses = StateOfTheUnion()

    def documents(self, split: str) -> Iterator[Document]:
        for address in self.addresses.documents(split):
            for paragraph in address.text.split("\n\n"):
                if len(text := " ".join(paragraph.split())) >= SHORTEST:
                    yield Document(text, fields={"label": address.fields["president"]})

    def fingerprint(self) -> str:
        return f"paragraphs from {SHORTEST} of {self.addresses.fingerprint()}"
