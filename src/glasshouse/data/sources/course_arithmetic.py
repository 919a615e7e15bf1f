"""The verbal arithmetic of a course assignment, with the assignment's own test file.

`arithmetic` generates the same expressions and divides them in another way.
"""

import csv
import json
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.arithmetic import VerbalArithmetic
from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.data.splits import assign_splits
from glasshouse.specs.errors import DataError

TRAINING_FILE = RemoteFile("verbal_arithmetic/PA03_data_20_train.csv")
TEST_FILE = RemoteFile("verbal_arithmetic/PA03_data_20_test.csv")
# The assignment holds out 30 % of the training file at random. Here a digest chooses them.
VALIDATION = 0.3
# The label in the files -> the sign of the result.
SIGNS = {"0": "negative", "1": "zero", "2": "positive"}


class CourseArithmetic(Source):
    """Each document is an expression, labelled by the sign of its result."""

    about = f"{VerbalArithmetic.about} With the test file of a course assignment"
    origin = "University of Toronto CSC413, 2022; uoft-csc413/2022 on GitHub, assets/misc/"
    licence = "MIT; not shipped"
    files: ClassVar[tuple[RemoteFile, ...]] = (TRAINING_FILE, TEST_FILE)
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        for expression, (expression_split, label) in self._rows.items():
            if expression_split == split:
                yield Document(expression, fields={"label": label})

    def fingerprint(self) -> str:
        digests = [text_files.summarise(file.locate("course-arithmetic")).digest for file in self.files]
        return json.dumps([VALIDATION, *digests])

    def expression_splits(self) -> dict[str, str]:
        """The split of each expression."""
        return {expression: split for expression, (split, _) in self._rows.items()}

    @cached_property
    def _rows(self) -> dict[str, tuple[str, str]]:
        """Expression -> its split and its label, in the order of a digest."""
        test = _read_labels(TEST_FILE)
        training = {expression: label for expression, label in _read_labels(TRAINING_FILE).items() if expression not in test}
        splits = assign_splits(training, VALIDATION, 0)
        splits |= dict.fromkeys(assign_splits(test, 0, 0), "test")
        labels = training | test
        return {expression: (split, labels[expression]) for expression, split in splits.items()}


def _read_labels(file: RemoteFile) -> dict[str, str]:
    """Expression -> label."""
    path = file.locate("course-arithmetic")
    reader = csv.DictReader(text_files.read_lines(path))
    if not {"input", "label"} <= set(reader.fieldnames or ()):
        raise DataError(f"{path} must have the columns 'input' and 'label'; replace it with the published file")
    labels = {}
    for row in reader:
        if row["label"] not in SIGNS:
            raise DataError(
                f"{path}, line {reader.line_num}: the label {row['label']!r} is not one of {', '.join(SIGNS)}; "
                "replace the file with the published one"
            )
        labels[row["input"]] = SIGNS[row["label"]]
    return labels
