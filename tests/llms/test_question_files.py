"""Files of questions: those that ship, one of a user, and mistakes."""

import pytest

from glasshouse.llms.answer_checks import check_all
from glasshouse.llms.question_files import read_questions
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
        outcome = check_all(questions[name].checks, answer)
        assert outcome.passed, outcome.reason
        assert not check_all(questions[name].checks, wrong[name]).passed


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
    assert question.checks[0].check("Paris").passed


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no questions"),
        ("[[questions", "TOML"),
        ("[[question]]\nname = 'a'", "'question'"),
        ("questions = [3]", "question 1"),
        ("[[questions]]\nprompt = 'a'", "name"),
        ("[[questions]]\nname = 'a'", "prompt"),
        ("[[questions]]\nname = 'a'\nprompt = 'b'\nanswer = 'c'", "'answer'"),
        ("[[questions]]\nname = 'a'\nprompt = 'b'\nsystem = 3", "system=3"),
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


def test_a_missing_file_is_refused(tmp_path):
    with refused(GlasshouseError, "none.toml"):
        read_questions(tmp_path / "none.toml")
    with refused(GlasshouseError, "folder"):
        read_questions(tmp_path)
