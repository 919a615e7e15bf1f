"""Sentences about numbers for pretraining, generated: sums, order, counting, signs.

No expression that `verbal-arithmetic` holds out for validation or testing stands in any of them, and no result of one: a
model can learn here how numbers follow each other, and must find out the rest. Expressions come with results, never with the
words that label them.
"""

import random
from collections.abc import Iterator
from functools import cached_property

from glasshouse.data import table_files
from glasshouse.data.documents import Document
from glasshouse.data.sources.arithmetic import NUMBERS, expressions, homes, in_words
from glasshouse.data.sources.generated import Generated

HELD_OUT = 0.05
SEED = 0
# Of runs of numbers.
LENGTHS = range(2, 7)
# Of the facts that three numbers give, as many as there are of the facts of two.
TRIPLES = 1200


class ArithmeticText(Generated):
    """A sentence a document, so worded that no negative number follows another at once: that would be an expression."""

    about = "sentences about numbers, without the held-out expressions of verbal-arithmetic; for pretraining"

    def documents(self, split: str) -> Iterator[Document]:
        for sentence, home in self._homes.items():
            if home == split:
                yield Document(sentence)

    @cached_property
    def _homes(self) -> dict[str, str]:
        return table_files.homes((*_sums(), *_order(), *_counting(), *_signs(), *_triples()), HELD_OUT, HELD_OUT)


def _sums() -> Iterator[str]:
    """Each expression to train on, in several wordings."""
    results = expressions()
    for expression, home in homes().items():
        if home == "train":
            result = in_words(results[expression])
            yield f"{expression} is {result}."
            yield f"{expression} equals {result}."
            yield f"{result} is {expression}."
            yield f"what is {expression}? it is {result}."
            if " minus " in expression:
                first, second = expression.split(" minus ")
                yield f"take {second} from {first} and {result} is left."


def _order() -> Iterator[str]:
    """Which of two numbers is more: what a sign is of a difference, without the difference."""
    for first in range(1 - NUMBERS, NUMBERS):
        for second in range(1 - NUMBERS, NUMBERS):
            if first != second:
                word = "more" if first > second else "less"
                yield f"{in_words(first)} is {word} than {in_words(second)}."
            if first != second and min(first, second) >= 0:
                word = "after" if first > second else "before"
                yield f"{in_words(first)} comes {word} {in_words(second)}."


def _counting() -> Iterator[str]:
    """Neighbours and runs along the line of numbers, by one: larger steps would tell sums that are held out."""
    lowest, highest = 1 - NUMBERS, 2 * NUMBERS - 2
    for number in range(lowest + 1, highest):
        before, here, after = (in_words(number + step) for step in (-1, 0, 1))
        yield f"the number after {here} is {after}."
        yield f"the number before {here} is {before}."
        yield f"{here} is between {before} and {after}."
    for direction, step in (("up", 1), ("down", -1)):
        for start in range(lowest, highest + 1):
            for length in LENGTHS:
                run = [start + step * count for count in range(1, length + 1)]
                if lowest <= run[-1] <= highest:
                    told = ", then ".join(in_words(number) for number in run)
                    yield f"counting {direction} from {in_words(start)} gives {told}."


def _signs() -> Iterator[str]:
    yield "zero is neither negative nor positive."
    for number in range(1, 2 * NUMBERS - 1):
        yield f"{in_words(number)} is more than zero, so it is positive."
        yield f"{in_words(number)} is positive."
    for number in range(1, NUMBERS):
        yield f"{in_words(-number)} is less than zero, so it is negative."
        yield f"{in_words(-number)} is negative."


def _triples() -> Iterator[str]:
    """The largest, the smallest and the middle of three numbers."""
    draw = random.Random(SEED)
    for index in range(TRIPLES):
        three = draw.sample(range(1 - NUMBERS, NUMBERS), 3)
        listed = " and ".join(in_words(number) for number in three)
        word, place = (("largest", 2), ("smallest", 0), ("middle one", 1))[index % 3]
        yield f"of {listed} the {word} is {in_words(sorted(three)[place])}."
