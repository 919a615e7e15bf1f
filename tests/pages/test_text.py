"""Human formatting at its edges: no figure is ever written with a unit it has outgrown."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from glasshouse import formatting


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "0"),
        (7, "7"),
        (999, "999"),
        (1000, "1.0 K"),
        (99_949, "99.9 K"),
        (99_951, "100 K"),
        (999_499, "999 K"),
        (999_500, "1.0 M"),
        (1_300_000, "1.3 M"),
        (-1_300_000, "−1.3 M"),
        (124_439_808, "124 M"),
        (7e9, "7.0 B"),
        (math.nan, "unknown"),
        (10**400, "unknown"),
    ],
)
def test_count(number: float, written: str) -> None:
    assert formatting.count(number) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "0 s"),
        (3e-9, "3.0 ns"),
        (0.0009996, "1.0 ms"),
        (0.041, "41 ms"),
        (0.0996, "0.10 s"),
        (0.41, "0.41 s"),
        (0.996, "1.0 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.99, "1 min"),
        (60, "1 min"),
        (118, "1 min 58 s"),
        (119.7, "2 min"),
        (3599.7, "1 h"),
        (3600, "1 h"),
        (3661, "1 h 1 min"),
        (7199, "2 h"),
        (86_399, "1 d"),
        (90_000, "1 d 1 h"),
        (-118, "−1 min 58 s"),
        (math.inf, "unknown"),
    ],
)
def test_duration(seconds: float, written: str) -> None:
    assert formatting.duration(seconds) == written


def test_size_and_flops() -> None:
    assert formatting.size(0) == "0 B"
    assert formatting.size(812e6) == "812 MB"
    assert formatting.size(999_999) == "1.0 MB"
    assert formatting.flops(3.2e12) == "3.2 TFLOP"
    assert formatting.flops(12) == "12 FLOP"


@given(some.floats(min_value=0, max_value=1e14))
def test_no_prefix_is_outgrown(number: float) -> None:
    for written in (formatting.count(number), formatting.size(number), formatting.flops(number)):
        assert float(written.split()[0]) < 1000


@given(some.floats(min_value=0, max_value=1e9))
def test_no_unit_of_time_is_outgrown(seconds: float) -> None:
    limits = {"ns": 1000, "µs": 1000, "ms": 100, "s": 60, "min": 60, "h": 24, "d": math.inf}
    words = formatting.duration(seconds).replace(",", "").split()
    for amount, unit in zip(words[::2], words[1::2], strict=True):
        assert float(amount) < limits[unit]


def test_visible() -> None:
    assert formatting.visible(" jobs\n") == "·jobs⏎"
    assert formatting.visible("a\tb\r") == "a⇥b␍"
    assert formatting.visible("") == "∅"
    assert formatting.visible("é日本") == "é日本"
    # A direction mark left raw would reorder the text around it; a lone surrogate could not be written at all.
    assert formatting.visible("\u202e\ud800\x00") == "‹U+202E›‹U+D800›‹U+0000›"
