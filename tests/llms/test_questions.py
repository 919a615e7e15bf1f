"""Questions and checks of answers: those that ship, those of a user, numbers and code in a text, and mistakes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.llms.questions import PromptQuestion, numbers_in, parse_check, python_code, read_questions
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

REVERSED = """Here:
```python
def reverse(head):
    previous = None
    while head is not None:
        head.next, previous, head = previous, head, head.next
    return previous
```"""
HELLO = """```python
print("Hello, world!")
```
```c
#include <stdio.h>
int main(void) { printf("Hello, world!\\n"); return 0; }
```
```javascript
console.log('Hello, world!');
```"""


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
    question = PromptQuestion("q", "?", checks=(parse_check({"regex": "."}), parse_check(check)))
    assert question.fault(right) == ""
    assert question.fault(wrong)


def test_an_answer_without_code_fails_the_tests_of_code():
    assert "no block" in parse_check({"python": "pass"}).fault("def f(): pass")


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


def test_the_questions_of_the_package_can_be_answered():
    questions = {question.name: question for question in read_questions()}
    assert list(questions) == ["capabilities", "division", "hello-world", "linked-list"]
    assert questions["capabilities"].prompt == "What are you capable of?"
    right = {"division": "About 2.96.", "hello-world": HELLO, "linked-list": REVERSED}
    wrong = {
        "division": "About 3.",
        "hello-world": HELLO.replace("console.log", "print"),
        "linked-list": REVERSED.replace("return previous", "return head"),
    }
    for name, answer in right.items():
        assert questions[name].fault(answer) == ""
        assert questions[name].fault(wrong[name])


def test_a_file_of_a_user(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[questions]]\nname = "capital"\nprompt = " France? "\nsystem = "One word."\ncheck = {exact = "Paris"}\n'
    )
    (question,) = read_questions(path)
    assert [(message.role, message.text) for message in question.messages()] == [
        ("system", "One word."),
        ("user", "France?"),
    ]
    assert question.fault("Paris") == ""


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "questions"),
        ("[[questions", "TOML"),
        ("[[question]]\nname = 'a'", "question"),
        ("questions = [3]", "questions.0"),
        ("[[questions]]\nprompt = 'a'", "name"),
        ("[[questions]]\nname = 'a'", "prompt"),
        ("[[questions]]\nname = 'a'\nprompt = 'b'\nanswer = 'c'", "answer"),
        ("[[questions]]\nname = 'a'\nprompt = 'b'\nsystem = 3", "system"),
        ("[[questions]]\nname = 'a'\nprompt = 'b'\nchecks = 3", "checks"),
        ("[[questions]]\nname = 'a'\nprompt = 'b'\ncheck = {is = 'c'}", "question a"),
        ("[[questions]]\nname = 'a'\nprompt = 'b'\n[[questions]]\nname = 'a'\nprompt = 'c'", "'a'"),
    ],
)
def test_mistakes_are_named(tmp_path, text, named):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with refused(GlasshouseError, "mine.toml", named):
        read_questions(path)


@pytest.mark.parametrize(
    ("check", "named"),
    [
        ("{}", "exact, number"),
        ("{exact = 'a', contains = 'b'}", "exact, number"),
        ("{number = '3'}", "number"),
        ("{number = true}", "number"),
        ("{exact = 3}", "exact"),
        ("{exact = ' '}", "exact"),
        ("{number = 3, ignore_case = true}", "ignore_case"),
        ("{number = 3, tolerance = -1}", "tolerance"),
        ("{regex = '('}", "question a"),
        ("{python = 'def ('}", "question a"),
    ],
)
def test_mistakes_in_a_check_are_named(tmp_path, check, named):
    path = tmp_path / "mine.toml"
    path.write_text(f"[[questions]]\nname = 'a'\nprompt = 'b'\ncheck = {check}")
    with refused(GlasshouseError, "mine.toml", named):
        read_questions(path)


def test_a_missing_file_is_refused(tmp_path):
    with refused(GlasshouseError, "none.toml"):
        read_questions(tmp_path / "none.toml")
    with refused(GlasshouseError, str(tmp_path)):
        read_questions(tmp_path)
