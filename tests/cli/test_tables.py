"""Tables on the terminal: where words are broken if a table is wider than the terminal."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from glasshouse.cli import tables

CELLS = st.lists(st.lists(st.text("ab1 -_=.,字", max_size=30), min_size=3, max_size=3), min_size=1, max_size=4)


def printed(capsys, width: int, *rows: tuple[str, ...]) -> list[str]:
    tables.console.width, before = width, tables.console.width
    try:
        tables.show(rows[0], rows[1:], right=(1, 2))
    finally:
        tables.console.width = before
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_words_are_broken_after_signs_and_numbers_are_whole(capsys) -> None:
    header = ("arm", "validation.loss", "difference", "verdict")
    row = ("learning_rate=0.001, weight_decay=1e-3", "6.7167 ± 0.0050", "+0.464 ± 0.015", "no difference")
    words = " ".join(printed(capsys, 52, header, row)).split()
    for word in (
        "0.001,",
        "learning_",
        "weight_",
        "1e-3",
        "6.7167",
        "0.0050",
        "validation.",
        "loss",
        "difference",
        "+0.464",
    ):
        assert word in words
    assert any("no difference" in line for line in printed(capsys, 120, header, row))


@given(CELLS, st.integers(16, 60))
def test_every_table_fits_and_loses_nothing(rows: list[list[str]], width: int) -> None:
    widths = tables.column_widths([list(column) for column in zip(*rows, strict=True)], width)
    assert sum(widths) <= width
    for row in rows:
        for cell, size in zip(row, widths, strict=True):
            lines = tables.wrapped(cell, size).splitlines()
            assert "".join(lines).replace(" ", "") == cell.replace(" ", "")
            # The terminal breaks what has no sign to break it after.
            assert all(cell_len(line) <= size or len(tables._parts(line)) == 1 for line in lines)
