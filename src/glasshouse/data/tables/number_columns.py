"""A column of numbers as people write them: a decimal comma, separators of thousands, one unit, placeholders for nothing.

What could be read in two ways is refused by those who need the numbers. Nothing is converted from one unit to another.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PLACEHOLDERS = frozenset(("-", "--", "?", "n/a", "na", "n.a.", "#n/a", "nan", "null", "none", "nil", "missing"))
"""What people write for a missing value, in small letters."""
CURRENCIES = "$ € £ ¥ ₹ ₩ ₽ US$ R$ USD EUR GBP CHF JPY CNY INR SEK NOK DKK PLN CZK HUF BRL CAD AUD Fr. kr zł"
UNITS = "% ‰ ° °C °F kg g mg t lb oz km m cm mm mi ft in l ml s ms min h d kB MB GB k K M pts"
# The largest shares of placeholders, and of cells that are no number at all, in a column of numbers.
MOST_MISSING, MOST_WRONG = 0.2, 0.02
# So many cells may have one that is no number.
ONE_WRONG = 20


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_CELL = re.compile(
    rf"([+\-−]?)\s?({_any_of(CURRENCIES.split())})?\s?([+\-−]?)([\d.,][\d.,'\s]*?)([eE][+-]?\d+)?"
    rf"\s?({_any_of((*CURRENCIES.split(), *UNITS.split()))})?"
)
# Digits between which a space or an apostrophe separates thousands.
_SPACED = re.compile(r"(?<=\d)[\s'](?=\d{3}(?!\d))")
_DIGITS = {
    "point": re.compile(r"\d+\.?\d*|\.\d+|[1-9]\d{0,2}(,\d{3})+(\.\d*)?"),
    "comma": re.compile(r"\d+,?\d*|,\d+|[1-9]\d{0,2}(\.\d{3})+(,\d*)?"),
}


@dataclass(frozen=True)
class NumberColumn:
    """The cells of a column as numbers. `values` are empty where there is none.

    `missing` and `wrong` are the places of placeholders and of cells that are no numbers. `units` counts the cells of each
    unit; "" means none. `decimal` is point, comma, or "" if both could be meant and the numbers would differ.
    """

    values: list[str]
    missing: list[int]
    wrong: list[int]
    units: Counter[str]
    decimal: str

    @property
    def remarks(self) -> list[str]:
        """What was understood of numbers that are not written plainly."""
        said = []
        if self.decimal == "comma":
            said.append("the numbers are read with a decimal comma; otherwise set data.decimal=point")
        if len(self.units) == 1 and (unit := next(iter(self.units))):
            said.append(f"the numbers are read without their unit {unit!r}, which is the same in every row")
        return said


def is_missing(text: str) -> bool:
    return text.casefold() in PLACEHOLDERS


def read(cells: Sequence[str], decimal: str = "auto") -> NumberColumn:
    """The cells of a column as numbers. `decimal` is the decimal mark: point, comma, or auto to find it."""
    taken: dict[int, tuple[str, str, str, str]] = {}  # sign, digits, exponent, unit
    missing, wrong = [], []
    for index, text in enumerate(cells):
        if is_missing(text):
            missing.append(index)
        elif found := _CELL.fullmatch(text):
            before, unit, after, digits, exponent, last = (part or "" for part in found.groups())
            sign = "-" if (before or after) in ("-", "−") else ""
            taken[index] = sign, _SPACED.sub("", digits), exponent, (unit or last).strip()
        elif text:
            wrong.append(index)
    mark = _decimal_mark([digits for _, digits, _, _ in taken.values()]) if decimal == "auto" else decimal
    values = [""] * len(cells)
    units: Counter[str] = Counter()
    for index, (sign, digits, exponent, unit) in taken.items():
        if not _DIGITS[mark or "point"].fullmatch(digits):
            wrong.append(index)
            continue
        plain = digits.replace(".", "").replace(",", ".") if mark == "comma" else digits.replace(",", "")
        values[index] = sign + plain + exponent
        units[unit] += 1
    return NumberColumn(values, missing, sorted(wrong), units, mark)


def looks_like_numbers(cells: Sequence[str]) -> bool:
    """Whether a column holds numbers, except for a few cells."""
    column = read(cells)
    most_wrong = max(MOST_WRONG * len(cells), len(cells) >= ONE_WRONG)
    return bool(column.units) and len(column.missing) <= MOST_MISSING * len(cells) and len(column.wrong) <= most_wrong


def _decimal_mark(digits: Sequence[str]) -> str:
    """The mark with which most cells are numbers; empty if commas could be either decimal marks or between thousands."""
    fitting = {mark: sum(pattern.fullmatch(text) is not None for text in digits) for mark, pattern in _DIGITS.items()}
    if not any("," in text for text in digits) or fitting["point"] > fitting["comma"]:
        return "point" if fitting["point"] >= fitting["comma"] else "comma"
    if fitting["comma"] > fitting["point"]:
        return "comma"
    return ""
