"""Checks of answers: numbers in a text, code in its blocks, texts, and mistakes in a file of questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.llms.answer_checks import check_all, numbers_in, parse_check, python_code
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        ({"number": 2.9615, "tolerance": 0.01}, "77/26 is about 2.96.", "It is 2.9 or 3."),
        ({"number": -1200}, "It costs −1,200.", "It costs 1,200."),
        ({"number": 3}, "3", "3.5"),
        ({"exact": "Paris"}, " Paris\n", "Paris."),
        ({"exact": "Paris", "ignore_case": True}, "PARIS", "Rome"),
        ({"contains": "#include"}, "```c\n#include <stdio.h>", "include"),
        ({"contains": "Straße", "ignore_case": True}, "STRASSE", "Gasse"),
        ({"regex": r"^\d+$"}, "42", "42 apples"),
        ({"regex": "hello,? world", "ignore_case": True}, "print('Hello World')", "Hello moon"),
        ({"python": "assert f(2) == 4"}, "```python\ndef f(x):\n    return x * 2\n```", "```python\nf = abs\n```"),
    ],
)
def test_a_check_tells_right_from_wrong(check, right, wrong):
    parsed = parse_check("here", check)
    assert parsed.check(right).passed
    outcome = parsed.check(wrong)
    assert not outcome.passed
    assert outcome.reason
    assert check_all((parsed, parse_check("here", {"regex": "."})), right).passed
    assert not check_all((parse_check("here", {"regex": "."}), parsed), wrong).passed


def test_without_a_check_there_is_no_outcome_and_without_code_a_reason():
    assert check_all((), "anything") is None
    assert "no block" in parse_check("here", {"python": "pass"}).check("def f(): pass").reason


@given(st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 4)), max_size=5))
def test_every_number_of_a_sentence_is_found(numbers):
    assert numbers_in(" and ".join(f"{number:.4f}" for number in numbers) + ".") == pytest.approx(numbers)
    assert numbers_in(" and ".join(f"{number:,.4f}" for number in numbers) + ".") == pytest.approx(numbers)


def test_numbers_in_prose():
    assert numbers_in("Of 1,234,567 people 3.5e3 came in 2024.") == [1234567, 3500, 2024]
    assert numbers_in("a - b. No. ...") == []


def test_code_is_that_of_the_python_blocks():
    answer = "Try:\n```python\na = 1\n```\nor\n~~~py\nb = 2\n~~~\nnot\n```c\nint c;\n```\nand\n```\nd\n```"
    assert python_code(answer) == "a = 1\n\nb = 2\n"
    assert python_code("```\na = 1\n```") == "a = 1\n"
    assert python_code("```python\na = 1") == "a = 1", "cut off"
    assert python_code("a = 1") == ""


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({}, "exact, number"),
        ("text", "exact, number"),
        ({"exact": "a", "contains": "b"}, "one of"),
        ({"number": "3"}, "number='3'"),
        ({"exact": 3}, "exact=3"),
        ({"exact": " "}, "empty"),
        ({"number": 3, "ignore_case": True}, "ignore_case"),
        ({"number": 3, "tolerance": -1}, "tolerance=-1"),
        ({"regex": "("}, "regex"),
        ({"python": "def ("}, "python"),
    ],
)
def test_mistakes_are_named(table, named):
    with refused(GlasshouseError, "here", named):
        parse_check("here", table)
