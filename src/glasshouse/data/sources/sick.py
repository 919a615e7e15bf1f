"""SICK: does the first sentence entail the second, contradict it, or neither? With the published splits."""

import csv
from collections.abc import Iterator
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.specs.errors import DataError

PUBLISHED_SPLITS = {"train": "TRAIN", "validation": "TRIAL", "test": "TEST"}
COLUMNS = ("sentence_A", "sentence_B", "entailment_label", "SemEval_set")
FILE = RemoteFile("nli/SICK.txt.gz")


class Sick(Source):
    """Each document is a premise and a hypothesis on two lines, with an entailment label."""

    about = "SICK: pairs of sentences, labelled entailment, contradiction or neutral"
    origin = "Marelli et al. 2014; kkalouli/SICK-processing on GitHub, SICK.txt"
    licence = "CC BY-NC-SA 3.0; not shipped"
    files: ClassVar[tuple[RemoteFile, ...]] = (FILE,)
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        rows = (line.rstrip("\r") for line in text_files.read_lines(FILE.locate("sick")))
        reader = csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE)
        if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
            path = FILE.locate("sick")
            raise DataError(
                "missing-column",
                f"{path} has no column {missing[0]!r} in its first line; replace it with the published file",
            )
        for row in reader:
            if row["SemEval_set"] == PUBLISHED_SPLITS[split]:
                text = f"{row['sentence_A']}\n{row['sentence_B']}"
                yield Document(text, fields={"label": row["entailment_label"].lower()})

    def fingerprint(self) -> str:
        return text_files.summarise(FILE.locate("sick")).digest
