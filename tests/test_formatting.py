"""Formatting of numbers and tokens, with values at the boundaries between units."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from glasshouse import formatting


@pytest.mark.parametrize(
    ("number", "expected"),
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
def test_count(number: float, expected: str) -> None:
    assert formatting.count(number) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
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
def test_duration(seconds: float, expected: str) -> None:
    assert formatting.duration(seconds) == expected


def test_size_and_flops() -> None:
    assert formatting.size(0) == "0 B"
    assert formatting.size(812e6) == "812 MB"
    assert formatting.size(999_999) == "1.0 MB"
    assert formatting.flops(3.2e12) == "3.2 TFLOP"
    assert formatting.flops(12) == "12 FLOP"


@given(some.floats(min_value=0, max_value=1e14))
def test_the_number_before_a_prefix_is_below_1000(number: float) -> None:
    for text in (formatting.count(number), formatting.size(number), formatting.flops(number)):
        assert float(text.split()[0]) < 1000


@given(some.floats(min_value=0, max_value=1e9))
def test_the_number_before_a_unit_of_time_is_below_the_next_unit(seconds: float) -> None:
    limits = {"ns": 1000, "µs": 1000, "ms": 100, "s": 60, "min": 60, "h": 24, "d": math.inf}
    words = formatting.duration(seconds).replace(",", "").split()
    for amount, unit in zip(words[::2], words[1::2], strict=True):
        assert float(amount) < limits[unit]


def test_visible() -> None:
    assert formatting.visible(" jobs\n") == "·jobs⏎"
    assert formatting.visible("a\tb\r") == "a⇥b␍"
    assert formatting.visible("") == "∅"
    assert formatting.visible("é日本") == "é日本"
    # A direction mark would reorder the text around it, and UTF-8 cannot encode a lone surrogate.
    assert formatting.visible("\u202e\ud800\x00") == "‹U+202E›‹U+D800›‹U+0000›"


def test_numbers_have_as_many_decimals_as_their_uncertainty() -> None:
    assert formatting.decimals([(2.41, 2.45), (2.40, 2.46)]) == 3
    assert [formatting.number(value, 3) for value in (2.4317, -0.0001, -1.5, math.nan, 1.5e12)] == [
        "2.432",
        "0.000",
        "−1.500",
        "–",
        "1.500×10¹²",
    ]
    assert [formatting.number(value, signed=True) for value in (0.0, 0.25, -3.2e-9)] == ["0", "+0.25", "−3.200×10⁻⁹"]
    assert [formatting.p_value(p) for p in (1.0, 0.034, 0.00123, 1e-9, math.nan)] == [
        "1.00",
        "0.034",
        "0.0012",
        "< 0.0001",
        "–",
    ]


def test_probability() -> None:
    values = (0, 1e-9, 0.00004, 0.312, 0.9999, 1)
    expected = ["0 %", "under 0.001 %", "0.004 %", "31.2 %", "over 99.9 %", "100 %"]
    assert [formatting.probability(value) for value in values] == expected


def test_short_number() -> None:
    values = (0, 0.25, 1500, 20_000, 3e-5, -2, 1e-6)
    assert [formatting.short_number(value) for value in values] == ["0", "0.25", "1500", "20 K", "3×10⁻⁵", "−2", "10⁻⁶"]


@pytest.mark.parametrize(
    ("value", "uncertainty", "text"),
    [
        (0.12, 0.039, "0.120"),
        (-0.0004, 0.05, "0.000"),
        (1234.5, 321.0, "1234"),
        (12.345, 0.0, "12.3"),
        (0.0, 0.0, "0"),
        (2e-9, 1e-10, "2e-09"),
        (0.25, math.nan, "0.250"),
    ],
)
def test_a_number_has_as_many_decimals_as_its_uncertainty_justifies(value: float, uncertainty: float, text: str) -> None:
    assert formatting.rounded(value, uncertainty) == text


def test_one_line() -> None:
    assert formatting.one_line("a\nb\x1b[2J") == "a b␛[2J"
    assert formatting.one_line("a\udc80") == "a\\udc80"
    assert len(formatting.one_line("a" * 70_000)) < 2100


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "²", "١", "9" * 19, "9" * 5000, "1_000"])
def test_a_text_that_is_no_count_is_none(text):
    assert formatting.read_count(text) is None


def test_a_count_is_read_back():
    assert [formatting.read_count(text) for text in ("0", "00012", "9" * 18)] == [0, 12, 10**18 - 1]


def test_every_kind_of_line_break_is_a_space_on_one_line():
    assert formatting.one_line("a\nb\u2028c\u2029d\n\ne") == "a b c d  e"
    assert formatting.one_line("a\x0bb\x85c") == "a\u240bb\\x85c"


@pytest.mark.parametrize("number", [8, 11, 18, 80, 88, 800, 8000, "11,000", 18000, "8,192"])
def test_an_before_a_vowel(number: object) -> None:
    assert formatting.with_article(f"{number}-gram model") == f"an {number}-gram model"


@pytest.mark.parametrize("number", [1, 2, 7, 10, 12, 17, 28, 70, 110, 118, 1100, 1800, "1,800"])
def test_a_before_a_consonant(number: object) -> None:
    assert formatting.with_article(f"{number}-gram model") == f"a {number}-gram model"


def test_the_article_of_a_word() -> None:
    assert [formatting.with_article(word) for word in ("int", "list", "unigram model", "accuracy")] == [
        "an int",
        "a list",
        "a unigram model",
        "an accuracy",
    ]


def test_a_time_that_is_none_is_empty() -> None:
    assert formatting.utc(1_780_236_300) == "2026-05-31 14:05 UTC"
    assert formatting.utc(-1) == formatting.utc(1e20) == ""
