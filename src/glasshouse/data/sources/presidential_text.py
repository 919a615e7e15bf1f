"""Pretraining text by presidents: the State of the Union addresses and the training files of `speeches`."""

import json
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.data.sources.speeches import Speeches, SpeechesText
from glasshouse.data.sources.state_of_the_union import StateOfTheUnion


class PresidentialText(Source):
    """The addresses and the speeches without their labels. Only addresses are held out."""

    about = "State of the Union addresses and the training files of `speeches`, without labels, for pretraining"
    origin = f"{StateOfTheUnion.origin}; {Speeches.origin}"
    licence = Speeches.licence
    files: ClassVar[tuple[RemoteFile, ...]] = SpeechesText.files[:2]

    def __init__(self) -> None:
        self.addresses, self.speeches, self.text = StateOfTheUnion(), Speeches(0.0), SpeechesText(0.0)

    def documents(self, split: str) -> Iterator[Document]:
        yield from self.addresses.documents(split)
        if split == "train":
            yield from self.text.documents(split)
            yield Document("\n".join(document.text for document in self.speeches.documents(split)))

    def fingerprint(self) -> str:
        digests = [text_files.summarise(file.locate("presidential-text")).digest for file in self.files]
        return json.dumps([self.addresses.fingerprint(), *digests])
