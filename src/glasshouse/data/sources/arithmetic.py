"""Verbal arithmetic, generated: is `seven minus nine` negative, zero or positive?"""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data.documents import Document
from glasshouse.data.sources.generated import GeneratedSource
from glasshouse.data.splits import assign_splits

# Operands are zero to nineteen. The two files of the assignment (Toronto CSC413, 2022) together hold exactly these
# expressions.
NUMBERS = 20
# The split sizes of the assignment: 160 test expressions, and 30 % of the other 640 for validation.
VALIDATION, TEST = 192 / 800, 160 / 800

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


def expressions() -> dict[str, int]:
    """Every expression with its result."""
    results = {}
    for first in range(NUMBERS):
        for second in range(NUMBERS):
            results[f"{number_in_words(first)} plus {number_in_words(second)}"] = first + second
            results[f"{number_in_words(first)} minus {number_in_words(second)}"] = first - second
    return results


def expression_splits() -> dict[str, str]:
    """The split of each expression, in the order of a digest."""
    return assign_splits(expressions(), VALIDATION, TEST)


class VerbalArithmetic(GeneratedSource):
    """Each document is an expression, labelled by the sign of its result."""

    about = "verbal arithmetic: is `seven minus nine` negative, zero or positive?"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        for expression, expression_split in self._splits.items():
            if expression_split == split:
                yield Document(expression, fields={"label": _sign(self._results[expression])})

    @cached_property
    def _results(self) -> dict[str, int]:
        return expressions()

    @cached_property
    def _splits(self) -> dict[str, str]:
        return expression_splits()


def _sign(number: int) -> str:
    return "zero" if number == 0 else "positive" if number > 0 else "negative"
