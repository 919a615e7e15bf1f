"""Generated questions such as "What is 7 divided by 12?" with their answers, in the form of a plain chat.

Every calculation with two numbers up to `LARGEST` is asked in several wordings. A held-out question is one wording of a
calculation whose other wordings are in the training split, so that a right answer shows what a model knows, in other words.
"""

import hashlib
from collections.abc import Iterator
from itertools import product

from glasshouse.data.documents import Document, GeneratedSource
from glasshouse.data.splits import split_by_digest

OPERATIONS = ("plus", "minus", "times", "divided by")
WORDINGS = ("What is {}?", "How much is {}?", "Calculate {}.", "Tell me what {} is.")
LARGEST = 12
# The share of all questions in each held-out split, in per cent.
HELD_OUT = {"validation": 5, "test": 10}

# The first number, the operation, the second number.
Calculation = tuple[int, str, int]


class Calculations(GeneratedSource):
    about = "questions like 'What is 7 divided by 12?' and their answers, as short chats in several wordings"

    def documents(self, split: str) -> Iterator[Document]:
        for question, calculation in questions(split):
            yield Document(f"User: {question}\nAssistant: {answer(calculation)}")


def questions(split: str) -> list[tuple[str, Calculation]]:
    """The questions of a split with what they ask for, in a fixed random order."""
    numbers = range(1, LARGEST + 1)
    asked = [
        (wording.format(f"{first} {operation} {second}"), (first, operation, second))
        for first, operation, second, wording in product(numbers, OPERATIONS, numbers, WORDINGS)
    ]
    of_split = (pair for pair in asked if split_by_digest(pair[0], HELD_OUT, 100) == split)
    return sorted(of_split, key=lambda pair: hashlib.blake2b(pair[0].encode(), digest_size=8).digest())


def result(calculation: Calculation) -> float:
    first, operation, second = calculation
    by_operation = {"plus": first + second, "minus": first - second, "times": first * second, "divided by": first / second}
    return by_operation[operation]


def answer(calculation: Calculation) -> str:
    """The result as a text. Quotients have two decimals."""
    value = result(calculation)
    return f"{value:.2f}" if calculation[1] == "divided by" else f"{value:.0f}"
