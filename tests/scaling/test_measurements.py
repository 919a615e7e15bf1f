"""MeasuredLosses from CSV files: columns with factors, curves at budgets, and a clear answer to every bad file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.scaling import measurements
from glasshouse.specs.errors import DataError, GlasshouseError

from .known_law import curves

HEADER = "N,D,L,width\n"
ROWS = "".join(f"{1000 * k},{10 * k},{3 / k},{k // 2}\n" for k in range(1, 9))


def read(tmp_path, text, **options):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    return measurements.read_csv(path, **{"parameters": "N", "tokens": "D", "loss": "L"} | options)


def test_columns_are_read_with_their_factors(tmp_path):
    table = read(tmp_path, HEADER + ROWS, tokens="D*1e6", curve="width")
    np.testing.assert_allclose(table.tokens, [10e6 * k for k in range(1, 9)])
    np.testing.assert_allclose(table.flops, 6 * table.parameters * table.tokens)
    assert table.runs.tolist() == [0, 1, 1, 2, 2, 3, 3, 4]
    assert table.curves
    assert not read(tmp_path, HEADER + ROWS).curves


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (HEADER + ROWS, {"loss": "M"}, DataError),
        (HEADER + ROWS, {"tokens": "D*x"}, DataError),
        (HEADER + ROWS + "1,2,,3\n", {}, DataError),
        (HEADER + ROWS + "1,2,nan,3\n", {}, DataError),
        (HEADER + ROWS + "1,2\n", {}, DataError),
        (HEADER + ROWS + "1,2,-3,3\n", {}, DataError),
        (HEADER + ROWS + "0,2,3,3\n", {}, DataError),
        *((HEADER + ROWS + row, {}, DataError) for row in ("1,1e-320,1,3\n", "1e300,2,3,3\n", "1,2,1e-320,3\n")),
        (HEADER + ROWS, {"tokens": "D*1e300"}, DataError),
        (HEADER + ROWS, {"tokens": "D*nan"}, DataError),
        (HEADER + ROWS + "1e30,1e30,1,3\n", {}, DataError),
        (HEADER, {}, DataError),
        ("", {}, DataError),
        (HEADER + "1,2,3,4\n", {}, DataError),
    ],
)
def test_bad_files_are_refused_with_the_remedy(tmp_path, text, options, code):
    with pytest.raises(GlasshouseError) as caught:
        read(tmp_path, text, **options)
    assert isinstance(caught.value, code)


def test_a_missing_and_a_binary_file_are_refused(tmp_path):
    with pytest.raises(GlasshouseError) as caught:
        measurements.read_csv(tmp_path / "none.csv", "N", "D", "L")
    assert isinstance(caught.value, GlasshouseError)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00N,D")
    with pytest.raises(GlasshouseError) as caught:
        measurements.read_csv(binary, "N", "D", "L")
    assert isinstance(caught.value, DataError)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("csv") / "any.csv"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(GlasshouseError):
        measurements.read_csv(path, "N", "D", "L")


def test_curves_are_interpolated_at_budgets():
    table = curves(0, noise=0.0)
    at = table.at_budgets([1e17])
    assert set(at.budgets) == {1e17}
    np.testing.assert_allclose(at.tokens, 1e17 / 6 / at.parameters, rtol=1e-6)
    # A small model reaches this budget only beyond its curve.
    assert len(at) == int((6 * np.unique(table.parameters) * 1e11 >= 1e17).sum())
    with pytest.raises(GlasshouseError) as caught:
        table.at_budgets([1e30])
    assert isinstance(caught.value, DataError)
