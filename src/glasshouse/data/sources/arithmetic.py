"""Verbal arithmetic: is `seven minus nine` negative, zero or positive? All 800 expressions, generated."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from glasshouse.data import table_files
from glasshouse.data.documents import Document
from glasshouse.data.sources.generated import Generated

# Zero to nineteen, as in the assignment (Toronto CSC413, 2022): its two files together are exactly these expressions.
NUMBERS = 20
# As many as published: 160 expressions to test; of the 640 others the 30 % that the assignment holds out for validation.
VALIDATION, TEST = 192 / 800, 160 / 800

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen""".split()  # noqa: SIM905 (twenty lines would say no more)
_TENS = ("", "", "twenty", "thirty")


def in_words(number: int) -> str:
    """A number between -39 and 39 as it is said."""
    if number < 0:
        return f"minus {in_words(-number)}"
    tens, unit = divmod(number, 10)
    if tens < 2:
        return _UNITS[number]
    return f"{_TENS[tens]}-{_UNITS[unit]}" if unit else _TENS[tens]


def expressions() -> dict[str, int]:
    """Every expression with its result."""
    found = {}
    for first in range(NUMBERS):
        for second in range(NUMBERS):
            found[f"{in_words(first)} plus {in_words(second)}"] = first + second
            found[f"{in_words(first)} minus {in_words(second)}"] = first - second
    return found


def homes() -> dict[str, str]:
    """The split of each expression, in the order of a digest."""
    return table_files.homes(expressions(), VALIDATION, TEST)


class VerbalArithmetic(Generated):
    """An expression a document, labelled by the sign of its result."""

    about = "verbal arithmetic: is `seven minus nine` negative, zero or positive?"
    columns: ClassVar[tuple[str, ...]] = ("label",)

    def documents(self, split: str) -> Iterator[Document]:
        for expression, home in self._homes.items():
            if home == split:
                yield Document(expression, fields={"label": _sign(self._results[expression])})

    @cached_property
    def _results(self) -> dict[str, int]:
        return expressions()

    @cached_property
    def _homes(self) -> dict[str, str]:
        return homes()


def _sign(number: int) -> str:
    return "zero" if number == 0 else "positive" if number > 0 else "negative"
