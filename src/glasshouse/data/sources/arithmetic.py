"""Verbal arithmetic: is `seven minus nine` negative, zero or positive?

One source is generated. The other has the files of a course assignment, which hold the same expressions in other splits.
"""

import csv
from collections.abc import Iterator
from functools import cache, cached_property
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, GeneratedSource
from glasshouse.data.sources.remote_files import PublishedSource, RemoteFile
from glasshouse.data.splits import assign_splits

# Operands are zero to nineteen. The two files of the assignment (Toronto CSC413, 2022) together hold exactly these
# expressions.
NUMBERS = 20
# The split sizes of the assignment: 160 test expressions, and 30 % of the other 640 for validation.
VALIDATION, TEST = 192 / 800, 160 / 800
COURSE_VALIDATION = 0.3
TRAINING_FILE = RemoteFile("verbal_arithmetic/PA03_data_20_train.csv")
TEST_FILE = RemoteFile("verbal_arithmetic/PA03_data_20_test.csv")
# The label in the files -> the sign of the result.
SIGNS = {"0": "negative", "1": "zero", "2": "positive"}

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen""".split()  # noqa: SIM905 (a list would take twenty lines)
_TENS = ("", "", "twenty", "thirty")


def number_in_words(number: int) -> str:
    """A number between -39 and 39 in English words."""
    if number < 0:
        return f"minus {number_in_words(-number)}"
    tens, unit = divmod(number, 10)
    if tens < 2:
        return _UNITS[number]
    return f"{_TENS[tens]}-{_UNITS[unit]}" if unit else _TENS[tens]


@cache
def expressions() -> dict[str, int]:
    results = {}
    for first in range(NUMBERS):
        for second in range(NUMBERS):
            results[f"{number_in_words(first)} plus {number_in_words(second)}"] = first + second
            results[f"{number_in_words(first)} minus {number_in_words(second)}"] = first - second
    return results


@cache
def expression_splits() -> dict[str, str]:
    """The split of each expression, in the order of a digest."""
    return assign_splits(expressions(), VALIDATION, TEST)


class VerbalArithmetic(GeneratedSource):
    """Each document is an expression, labelled by the sign of its result."""

    about = "verbal arithmetic: is `seven minus nine` negative, zero or positive?"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        for expression, expression_split in expression_splits().items():
            if expression_split == split:
                result = expressions()[expression]
                sign = "zero" if result == 0 else "positive" if result > 0 else "negative"
                yield Document(expression, fields={"label": sign})


class CourseArithmetic(PublishedSource):
    """The same expressions with the test file of the assignment. A digest chooses those for validation."""

    name = "course-arithmetic"
    about = f"{VerbalArithmetic.about} With the test file of a course assignment"
    origin = "University of Toronto CSC413, 2022; uoft-csc413/2022 on GitHub, assets/misc/"
    licence = "MIT; not shipped"
    files = (TRAINING_FILE, TEST_FILE)
    columns: ClassVar[tuple[str, ...]] = ("label",)
    settings = (COURSE_VALIDATION,)

    def documents(self, split: str) -> Iterator[Document]:
        labels = self._labels[TRAINING_FILE] | self._labels[TEST_FILE]
        for expression, expression_split in self.expression_splits().items():
            if expression_split == split:
                yield Document(expression, fields={"label": labels[expression]})

    def expression_splits(self) -> dict[str, str]:
        """The split of each expression."""
        test = self._labels[TEST_FILE]
        training = [expression for expression in self._labels[TRAINING_FILE] if expression not in test]
        return assign_splits(training, COURSE_VALIDATION, 0) | dict.fromkeys(assign_splits(test, 0, 0), "test")

    @cached_property
    def _labels(self) -> dict[RemoteFile, dict[str, str]]:
        labels: dict[RemoteFile, dict[str, str]] = {}
        for file in (TEST_FILE, TRAINING_FILE):
            path = file.locate(self.name)
            reader = csv.DictReader(text_files.read_lines(path))
            self.check_columns(path, ("input", "label"), reader.fieldnames)
            labels[file] = {
                row["input"]: self.known(row["label"], SIGNS, f"{path}, line {reader.line_num}") for row in reader
            }
        return labels
