"""Presidential speeches of a well-known assignment: who is speaking, Obama, G. W. Bush or G. H. W. Bush?"""

import json
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.own_rows import OwnRows
from glasshouse.data.sources.located import Remote

NAMES = {"0": "Obama", "1": "W. Bush", "2": "H. Bush"}
TRAIN, TEST = Remote("speeches/train_CLS.tsv"), Remote("speeches/test_CLS.tsv")
# Of the training file, held out for choosing; the test file is for nothing but the end.
VALIDATION = 0.1


class Speeches(Source):
    """A segment a document, labelled by speaker, with the published test file."""

    about = "segments of speeches by three presidents, labelled by speaker"
    origin = "UCSD CSE 256, programming assignment 2 (2024), speechesdataset/"
    licence = "none stated for the compilation; not shipped"
    files: ClassVar[tuple[Remote, ...]] = (TRAIN, TEST)
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        file, validation = (TEST, 0.0) if split == "test" else (TRAIN, VALIDATION)
        rows = OwnRows((str(file.locate("speeches")),), "text", "label", validation, test=0.0)
        for document in rows.documents("train" if split == "test" else split):
            yield Document(document.text, fields={"label": NAMES[document.fields["label"]]})

    def fingerprint(self) -> str:
        return json.dumps([VALIDATION, *(text_files.survey(file.locate("speeches")).digest for file in self.files)])
