"""Numbers as people write them are read by the column as a whole; what could mean two things is not decided silently."""

import pytest

from glasshouse.data.tables import number_columns


@pytest.mark.parametrize(
    ("cells", "values", "decimal"),
    [
        (["3", "4.5", "-2", "1e3", "", ".5"], ["3", "4.5", "-2", "1e3", "", ".5"], "point"),
        (["4,5 €", "1.234,50 €"], ["4.5", "1234.50"], "comma"),
        (["$3", "-$4.50", "$1,200"], ["3", "-4.50", "1200"], "point"),
        (["12 %", "5%"], ["12", "5"], "point"),
        (["0,123", "1,234"], ["0.123", "1.234"], "comma"),
        (["1.234", "1.234.567"], ["1234", "1234567"], "comma"),
        (["12 345", "1'000"], ["12345", "1000"], "point"),
    ],
)
def test_numbers_are_read_with_the_decimal_mark_and_unit_of_their_column(cells, values, decimal):
    column = number_columns.read(cells)
    assert column.values == values
    assert column.decimal == decimal
    assert not column.wrong
    assert number_columns.looks_like_numbers(cells)


def test_commas_that_could_be_either_mark_are_not_decided():
    assert number_columns.read(["1,234", "2,500"]).decimal == ""
    assert number_columns.read(["1,234", "2,500"], "comma").values == ["1.234", "2.500"]
    assert number_columns.read(["1,234", "2,500"], "point").values == ["1234", "2500"]


def test_units_are_counted():
    assert number_columns.read(["$3", "€4", "5", "€6"]).units == {"$": 1, "€": 2, "": 1}


def test_placeholders_and_words_are_kept_apart():
    column = number_columns.read(["3", "n/a", "NaN", "five", "-", "?", "NULL"])
    assert column.missing == [1, 2, 4, 5, 6]
    assert column.wrong == [3]


def test_a_few_odd_cells_do_not_change_what_a_column_is():
    cells = [str(number / 7) for number in range(99)]
    assert number_columns.looks_like_numbers([*cells, "n/a"])
    assert number_columns.looks_like_numbers([*cells, "none of these"])
    assert not number_columns.looks_like_numbers(["1st", "v2", "A1"])
    assert not number_columns.looks_like_numbers(["n/a", "-"])
    assert not number_columns.looks_like_numbers([*cells, *["a word"] * 50])
