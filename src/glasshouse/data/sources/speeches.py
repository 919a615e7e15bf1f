"""Speeches by Obama, G. W. Bush and G. H. W. Bush, of a well-known assignment: who is speaking, and what comes next?"""

import json
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.sources.remote_files import Remote
from glasshouse.data.user_files.labelled import UserLabelled
from glasshouse.data.user_files.text import UserText
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

NAMES = {"0": "Obama", "1": "W. Bush", "2": "H. Bush"}
ROWS = {"train": Remote("speeches/train_CLS.tsv"), "test": Remote("speeches/test_CLS.tsv")}
TEXT = Remote("speeches/train_LM.txt")
TEST_TEXTS = {name: Remote(f"speeches/test_LM_{name.lower().replace('. ', '')}.txt") for name in NAMES.values()}


def _part(speaker: str) -> str:
    return "test-" + speaker.lower().replace(". ", "-")


class Speeches(Source):
    """A segment a document, labelled by speaker, with the published test file.

    Of the training file, `data.validation` is held out for choosing; the test file is for nothing but the end.
    """

    about = "segments of speeches by three presidents, labelled by speaker"
    origin = "UCSD CSE 256, programming assignment 2 (2024), speechesdataset/"
    licence = "none stated for the compilation; not shipped"
    files: ClassVar[tuple[Remote, ...]] = tuple(ROWS.values())
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, validation: float = DataSpec.validation) -> None:
        self.validation = validation

    @classmethod
    def of(cls, data: DataSpec) -> "Speeches":
        return cls(data.validation)

    def documents(self, split: str) -> Iterator[Document]:
        # The whole of the test file is what a source of that file alone would train on.
        file, part, held = ("test", "train", 0.0) if split == "test" else ("train", split, self.validation)
        path = ROWS[file].locate("speeches")
        for document in UserLabelled((str(path),), "text", "label", held, test=0.0).documents(part):
            label = document.fields["label"]
            if label not in NAMES:
                raise DataError(
                    "unknown-label",
                    f"{path}: the label {label!r} is none of {', '.join(NAMES)}; put the published file there",
                )
            yield Document(document.text, fields={"label": NAMES[label]})

    def fingerprint(self) -> str:
        return json.dumps([self.validation, *(text_files.survey(file.locate("speeches")).digest for file in self.files)])


class SpeechesText(Source):
    """The assignment's text for language models, the last `data.validation` of it held out; each test file is a document.

    Words are those of both training files, the assignment's own choice.
    """

    about = "speeches by three presidents as plain text, with a test text of each speaker"
    origin = Speeches.origin
    licence = Speeches.licence
    files: ClassVar[tuple[Remote, ...]] = (TEXT, ROWS["train"], *TEST_TEXTS.values())
    splits: ClassVar[tuple[str, ...]] = (*SPLITS, *(_part(name) for name in TEST_TEXTS))

    def __init__(self, validation: float = DataSpec.validation) -> None:
        self.validation = validation

    @classmethod
    def of(cls, data: DataSpec) -> "SpeechesText":
        return cls(data.validation)

    def documents(self, split: str) -> Iterator[Document]:
        if not split.startswith("test"):
            yield from self._text.documents(split)
            return
        for speaker, file in TEST_TEXTS.items():
            if split not in ("test", _part(speaker)):
                continue
            lines = text_files.lines(file.locate("speeches-text"))
            yield Document("\n".join(line.rstrip("\r") for line in lines), fields={"speaker": speaker})

    def lexicon(self) -> Iterator[Document]:
        yield from self.documents("train")
        yield from Speeches(0.0).documents("train")

    def fingerprint(self) -> str:
        tests = [text_files.survey(file.locate("speeches-text")).digest for file in self.files]
        return json.dumps([self._text.fingerprint(), *tests])

    @cached_property
    def _text(self) -> UserText:
        return UserText((str(TEXT.locate("speeches-text")),), "text", self.validation, test=0.0)
