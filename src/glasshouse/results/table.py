"""A table of texts. The terminal and the pages write it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """The first column names the rows, the next `numbers` hold numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    numbers: int = 0
