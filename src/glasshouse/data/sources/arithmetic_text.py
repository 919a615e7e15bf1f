"""Generated sentences about numbers for pretraining: sums, order, counting and signs.

No sentence contains an expression that is held out for validation or testing, nor the result of one. There is one text for
the split of `verbal-arithmetic` and one for that of `course-arithmetic`. A model learns how numbers relate to each other and
must infer the rest. Sentences give the results of expressions but never combine an expression with its label.
"""

import random
from collections.abc import Iterator, Mapping

from glasshouse.data.documents import Document, GeneratedSource, digest_of_documents
from glasshouse.data.sources.arithmetic import NUMBERS, CourseArithmetic, expression_splits, expressions, number_in_words
from glasshouse.data.sources.remote_files import PublishedSource
from glasshouse.data.splits import assign_splits

HELD_OUT = 0.05
SEED = 0
# How many numbers a counting sentence lists.
LENGTHS = range(2, 7)
# The number of sentences that compare three numbers.
TRIPLES = 1200


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
    sentences = assign_splits((*_sums(splits), *_order(), *_counting(), *_signs(), *_triples()), HELD_OUT, HELD_OUT)
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
            for length in LENGTHS:
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
    """The largest, the smallest and the middle of three numbers."""
    generator = random.Random(SEED)
    for index in range(TRIPLES):
        three = generator.sample(range(1 - NUMBERS, NUMBERS), 3)
        listed = " and ".join(number_in_words(number) for number in three)
        word, place = (("largest", 2), ("smallest", 0), ("middle one", 1))[index % 3]
        yield f"of {listed} the {word} is {number_in_words(sorted(three)[place])}."
