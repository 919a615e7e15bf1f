"""SICK: does the first sentence entail the second, contradict it, or neither? With the published splits."""

import csv
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.specs.errors import DataError

PUBLISHED_SPLITS = {"train": "TRAIN", "validation": "TRIAL", "test": "TEST"}
COLUMNS = ("sentence_A", "sentence_B", "entailment_label", "relatedness_score", "SemEval_set")
FILE = RemoteFile("nli/SICK.txt.gz")
ORIGIN = "Marelli et al. 2014; kkalouli/SICK-processing on GitHub, SICK.txt"
LICENCE = "CC BY-NC-SA 3.0; not shipped"


class Sick(Source):
    """Each document is a premise and a hypothesis on two lines, with an entailment label."""

    about = "SICK: pairs of sentences, labelled entailment, contradiction or neutral"
    origin = ORIGIN
    licence = LICENCE
    files: ClassVar[tuple[RemoteFile, ...]] = (FILE,)
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        for row in _rows("sick", split):
            text = f"{row['sentence_A']}\n{row['sentence_B']}"
            yield Document(text, fields={"label": row["entailment_label"].lower()})

    def fingerprint(self) -> str:
        return text_files.summarise(FILE.locate("sick")).digest


class SickPairs(Source):
    """Each document is a premise with a hypothesis as its second text, a label, and how related both are, from 1 to 5."""

    about = "SICK as pairs of texts (data.second=second), with a label and a relatedness from 1 to 5 as their value"
    origin = ORIGIN
    licence = LICENCE
    files: ClassVar[tuple[RemoteFile, ...]] = (FILE,)
    columns: ClassVar[tuple[str, ...]] = ("label", "value", "second")

    def documents(self, split: str) -> Iterator[Document]:
        for row in _rows("sick-pairs", split):
            fields = {
                "label": row["entailment_label"].lower(),
                "value": row["relatedness_score"],
                "second": row["sentence_B"],
            }
            yield Document(row["sentence_A"], fields=fields)

    def fingerprint(self) -> str:
        return f"pairs {text_files.summarise(FILE.locate('sick-pairs')).digest}"


def _rows(data_set: str, split: str) -> Iterator[dict[str, str]]:
    """The rows of a split, by the names of their columns."""
    path = FILE.locate(data_set)
    rows = (line.rstrip("\r") for line in text_files.read_lines(path))
    reader = csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE)
    if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
        raise DataError(f"{path} has no column {missing[0]!r} in its first line; replace it with the published file")
    return (row for row in reader if row["SemEval_set"] == PUBLISHED_SPLITS[split])
