"""How much of the user's own files is read at most, so that no file can fill the memory or take for ever.

Every limit is checked while a file is read, before the part beyond it is kept. `data.limits` raises them. A text that is
read in chunks may have any size; only what must be in memory at once is limited.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from glasshouse.specs.errors import LimitExceeded, Remedy, SpecError

MEGABYTE = 10**6
# Expanded bytes that need no stored ones. Honest small files may repeat one line.
FREE_EXPANSION = 64 * MEGABYTE
# What Python needs for a cell besides its characters, and for the values of a JSON text for each of its characters.
BYTES_PER_CELL, BYTES_PER_JSON_CHARACTER = 64, 8
# Name -> the largest value that a limit can be raised to.
LARGEST = {"expansion": 10**6, "line": 2000, "table": 10**6, "nesting": 200, "columns": 10**6, "classes": 10**7}


class LineTooLong(LimitExceeded):
    """A line that is too long to be kept in memory."""


# Name -> how the error goes on after the name of the file, and what to do instead of raising the limit.
BEYOND = {
    "expansion": ("expands to more than {limit:,} times its size", "choose another file, or decompress it yourself"),
    "line": ("has more than {limit:,} million characters", "divide it into several lines"),
    "table": ("needs more than {limit:,} megabytes of memory", "use a part of it"),
    "nesting": ("has values that are nested deeper than {limit:,} levels", "flatten them"),
    "columns": ("has {found:,} columns and may have {limit:,}", "leave out those that you do not need"),
    "classes": ("has more than {limit:,} different labels", "check the column of the labels"),
}

Kept = TypeVar("Kept", bound=Sequence[Any])


@dataclass(frozen=True)
class ReadLimits:
    """The limits by name. `line` is in millions of characters, `table` in megabytes."""

    expansion: int = 100
    line: int = 16
    table: int = 2000
    nesting: int = 100
    columns: int = 4096
    classes: int = 10_000

    @classmethod
    def of(cls, raised: Iterable[str]) -> "ReadLimits":
        """The default limits, with those that `raised` names as in "classes=50000" or "line=100,table=8000"."""
        limits = cls()
        for text in (part.strip() for one in raised for part in one.split(",") if part.strip()):
            name, _, value = text.partition("=")
            if name not in LARGEST or not re.fullmatch("[0-9]{1,9}", value) or not 1 <= int(value) <= LARGEST[name]:
                most = ", ".join(f"{name} up to {largest}" for name, largest in LARGEST.items())
                raise SpecError(f"raises no limit; write one as in classes=50000 ({most})", "data.limits", text[:60])
            limits = replace(limits, **{name: int(value)})
        return limits

    def check(self, name: str, amount: int, place: object) -> None:
        """Refuse more than the limit of this name: bytes, characters, columns or classes. `place` is where they are."""
        if amount > getattr(self, name) * (MEGABYTE if name in ("line", "table") else 1):
            raise self.beyond(name, place, amount)

    def check_expansion(self, path: Path, stored: int, expanded: int) -> None:
        """Refuse a compressed file that is far larger than its stored bytes. `stored` bytes were read so far."""
        if expanded > FREE_EXPANSION + self.expansion * stored:
            raise self.beyond("expansion", path, expanded)

    def kept(self, rows: Iterable[Kept], path: Path) -> Iterator[Kept]:
        """Rows that will be kept in memory, up to the limit of a table."""
        size = 0
        for row in rows:
            size += sum(map(len, row)) + BYTES_PER_CELL * (len(row) + 1)
            self.check("table", size, path)
            yield row

    def beyond(self, name: str, place: object, found: int = 0) -> LimitExceeded:
        """The error for what is beyond the limit of this name. It says how to raise the limit, if it can be raised."""
        limit = getattr(self, name)
        problem, remedy = BEYOND[name]
        raised = min(10 * limit, LARGEST[name])
        raising = [Remedy("data.limits", f"{name}={raised}", "raise the limit:")] if raised > limit else []
        kind = LineTooLong if name == "line" else LimitExceeded
        return kind(f"{place} {problem.format(limit=limit, found=found)}", remedies=[remedy, *raising])


DEFAULT = ReadLimits()
