"""Tables on the terminal: what happens if a table is wider than the terminal."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from glasshouse.cli import tables

CELLS = st.lists(st.lists(st.text("ab1 -_=.,字", max_size=30), min_size=3, max_size=3), min_size=1, max_size=4)


def printed(width: int, *rows: list[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch, tables.console.capture() as capture:
        patch.setattr(tables.console, "width", width)
        tables.show(rows[0], rows[1:], right=(1, 2))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_cells_are_broken_between_words_and_numbers_are_whole() -> None:
    header = ["arm", "validation.loss", "difference", "verdict"]
    row = ["learning_rate=0.001, weight_decay=1e-3", "6.7167 ± 0.0050", "+0.464 ± 0.015", "no difference"]
    words = " ".join(printed(80, header, row)).split()
    for word in ("learning_rate=0.001,", "weight_decay=1e-3", "6.7167", "0.0050", "validation.loss", "+0.464"):
        assert word in words
    assert any("no difference" in line for line in printed(120, header, row))


@given(CELLS, st.integers(20, 60))
def test_every_table_fits_and_loses_nothing(rows: list[list[str]], width: int) -> None:
    lines = printed(width, *rows)
    assert all(cell_len(line) <= width for line in lines)
    signs = Counter("".join(lines).replace(" ", "").replace("─", ""))
    assert signs == Counter("".join(cell for row in rows for cell in row).replace(" ", ""))
