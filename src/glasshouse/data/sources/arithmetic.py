"""Verbal arithmetic: is `seven minus nine` negative, zero or positive? And sentences about numbers for pretraining.

One source of either kind is generated. The other has the files of a course assignment, which hold the same expressions in
other splits.

The sentences are sums, order, counting and signs. No sentence contains an expression that is held out for validation or
testing, nor the result of one. A model learns how numbers relate to each other and must infer the rest. Sentences give the
results of expressions but never combine an expression with its label.
"""

import csv
import random
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Document, GeneratedSource, digest_of_documents
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


class ArithmeticText(GeneratedSource):
    """Leaves out what `verbal-arithmetic` holds out."""

    about = "sentences about numbers, without the held-out expressions of verbal-arithmetic; for pretraining"

    def documents(self, split: str) -> Iterator[Document]:
        return _sentences(expression_splits(), split)


class CourseArithmeticText(PublishedSource):
    """Leaves out what `course-arithmetic` holds out. It needs the files of the assignment to know these expressions."""

    name = "course-arithmetic-text"
    about = "sentences about numbers, without the held-out expressions of course-arithmetic; for pretraining"
    origin = f"{ArithmeticText.origin}, from the splits of course-arithmetic"
    licence = ArithmeticText.licence
    files = CourseArithmetic.files

    def documents(self, split: str) -> Iterator[Document]:
        return _sentences(CourseArithmetic().expression_splits(), split)

    def fingerprint(self) -> str:
        return digest_of_documents(self)


def _sentences(splits: Mapping[str, str], split: str) -> Iterator[Document]:
    """The sentences of a split. They contain only the expressions of the training split of `splits`.

    A negative number never directly follows a number: both would form an expression.
    """
    sentences = assign_splits((*_sums(splits), *_order(), *_counting(), *_signs(), *_triples()), validation=0.05, test=0.05)
    return (Document(sentence) for sentence, sentence_split in sentences.items() if sentence_split == split)


def _sums(splits: Mapping[str, str]) -> Iterator[str]:
    """Every training expression in several wordings."""
    results = expressions()
    for expression, split in splits.items():
        if split == "train":
            result = number_in_words(results[expression])
            yield f"{expression} is {result}."
            yield f"{expression} equals {result}."
            yield f"{result} is {expression}."
            yield f"what is {expression}? it is {result}."
            if " minus " in expression:
                first, second = expression.split(" minus ")
                yield f"take {second} from {first} and {result} is left."


def _order() -> Iterator[str]:
    """Which of two numbers is larger. This determines the sign of their difference without stating the difference."""
    for first in range(1 - NUMBERS, NUMBERS):
        for second in range(1 - NUMBERS, NUMBERS):
            if first != second:
                word = "more" if first > second else "less"
                yield f"{number_in_words(first)} is {word} than {number_in_words(second)}."
            if first != second and min(first, second) >= 0:
                word = "after" if first > second else "before"
                yield f"{number_in_words(first)} comes {word} {number_in_words(second)}."


def _counting() -> Iterator[str]:
    """Neighbouring numbers and counting sequences in steps of one. Larger steps would reveal held-out sums."""
    lowest, highest = 1 - NUMBERS, 2 * NUMBERS - 2
    for number in range(lowest + 1, highest):
        before, here, after = (number_in_words(number + step) for step in (-1, 0, 1))
        yield f"the number after {here} is {after}."
        yield f"the number before {here} is {before}."
        yield f"{here} is between {before} and {after}."
    for direction, step in (("up", 1), ("down", -1)):
        for start in range(lowest, highest + 1):
            for length in range(2, 7):
                sequence = [start + step * count for count in range(1, length + 1)]
                if lowest <= sequence[-1] <= highest:
                    listed = ", then ".join(number_in_words(number) for number in sequence)
                    yield f"counting {direction} from {number_in_words(start)} gives {listed}."


def _signs() -> Iterator[str]:
    yield "zero is neither negative nor positive."
    for number in range(1, 2 * NUMBERS - 1):
        yield f"{number_in_words(number)} is more than zero, so it is positive."
        yield f"{number_in_words(number)} is positive."
    for number in range(1, NUMBERS):
        yield f"{number_in_words(-number)} is less than zero, so it is negative."
        yield f"{number_in_words(-number)} is negative."


def _triples() -> Iterator[str]:
    generator = random.Random(0)
    for index in range(1200):
        three = generator.sample(range(1 - NUMBERS, NUMBERS), 3)
        listed = " and ".join(number_in_words(number) for number in three)
        word, place = (("largest", 2), ("smallest", 0), ("middle one", 1))[index % 3]
        yield f"of {listed} the {word} is {number_in_words(sorted(three)[place])}."
