"""Values of kept files: they become values of the declared type, or the message names the field, the rule and the value."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
import pytest

from glasshouse.records.kept_schema import Also, Between, Size, Written, as_type, fitting_entries


@dataclass(frozen=True)
class Point:
    x: float
    name: str = "here"
    path: tuple[int, ...] = ()


class Table(TypedDict):
    points: list[Point]
    best: NotRequired[Point | None]


def upper(text: str, field: str) -> str:
    return f"{field}:{text.upper()}"


class Kept(TypedDict):
    text: Annotated[str, Written(upper)]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ({"x": 1.5, "path": [1, 2]}, Point, Point(1.5, path=(1, 2))),
        ({"points": [{"x": 1.0}], "more": [3]}, Table, {"points": [Point(1.0)], "more": [3]}),
        ({"points": [], "best": None}, Table, {"points": [], "best": None}),
        ({"1": [2.0], "-3": []}, dict[int, tuple[float, ...]], {1: (2.0,), -3: ()}),
        ([["a", 1]], tuple[tuple[str, int], ...], (("a", 1),)),
        ({"a": 1}, Mapping[str, float], {"a": 1}),
        ("b", Literal["a", "b"], "b"),
        ({"a": 2, "b": "x"}, Annotated[dict[str, Any], Also(TypedDict("Part", {"a": int}))], {"a": 2, "b": "x"}),
        ([{"text": "ab"}], list[Kept], [{"text": "0.text:AB"}]),
    ],
)
def test_a_value_becomes_what_its_type_says(value: Any, kind: Any, expected: Any) -> None:
    found = as_type(value, kind)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ({"x": "1"}, Point, "x must be a number, and is '1'"),
        ({}, Point, "x is missing"),
        ({"x": 1.0, "y": 2}, Point, "y is not known"),
        ({"points": [{"x": True}]}, Table, "points.0.x must be a number, and is True"),
        ({"points": [], "best": {"x": None}}, Table, "best.x must be a number, and is None"),
        ({"points": [], "best": 3}, Table, "best must be an object or null, and is 3"),
        ([1], tuple[int, int], "the value must be an array of 2, and is an array of 1"),
        ({"one": 1}, dict[int, int], "an object whose names are whole numbers, and is 'one'"),
        (math.nan, Annotated[float, Between(0, 1)], "the value must be from 0 to 1, and is nan"),
        ("", Annotated[str, Size(1)], "characters, and is ''"),
        (10**400, int, "at most 300 digits"),
    ],
)
def test_what_does_not_fit_is_named(value: Any, kind: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as fault:
        as_type(value, kind)
    assert message in str(fault.value)


def test_entries_that_do_not_fit_are_left_out() -> None:
    kept, faults = fitting_entries({"points": 3, "best": {"x": 1}, "more": 4}, Table)
    assert kept == {"best": Point(1), "more": 4}
    assert faults == ["points must be an array, and is 3"]


def test_a_number_beyond_those_of_numpy_is_a_float() -> None:
    assert np.asarray(as_type(2**70, float)).dtype == float
    assert type(as_type(3, float)) is int
