"""Questions for a grid, and the checks of their answers: TOML files with a name, a prompt and checks for each question."""

import re
from dataclasses import dataclass, field
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Final

from glasshouse.llms import code_runner
from glasshouse.llms.language_model import Message
from glasshouse.records.kept_schema import Between, Size, as_type
from glasshouse.specs import toml_text
from glasshouse.specs.errors import GlasshouseError

# Thousands may be separated by commas; a point that ends a sentence is no part of a number.
_NUMBERS: Final = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:[eE][-+]?\d+)?")
_FENCE: Final = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_PYTHON_NAMES: Final = ("python", "python3", "py")
# Characters of an answer that are checked.
MOST_CHARACTERS: Final = 20_000
EXACT, NUMBER, REGEX, CONTAINS, PYTHON = KINDS = ("exact", "number", "regex", "contains", "python")
Text = Annotated[str, Size(1)]
# The fields of a check of each kind, and their types. The first holds what is expected.
FIELDS: Final[dict[str, dict[str, Any]]] = {
    EXACT: {EXACT: Text, "ignore_case": bool},
    NUMBER: {NUMBER: float, "tolerance": Annotated[float, Between(0, 1e300)]},
    REGEX: {REGEX: Text, "ignore_case": bool},
    CONTAINS: {CONTAINS: Text, "ignore_case": bool},
    PYTHON: {PYTHON: Text, "seconds": Annotated[float, Between(0, 3600)]},
}


@dataclass(frozen=True)
class AnswerCheck:
    """One check. `expected` is a text, or a number for the kind `number`; for `python` it is the code of the tests."""

    kind: str
    expected: str | float
    tolerance: float = 0.0
    ignore_case: bool = False
    seconds: float = code_runner.SECONDS

    @property
    def rule(self) -> str:
        """The check in words that follow "right if it"."""
        return {
            EXACT: f"is “{self.expected}”",
            NUMBER: f"has a number within {self.tolerance:g} of {self.expected}",
            REGEX: f"matches {self.expected}",
            CONTAINS: f"contains “{self.expected}”",
            PYTHON: f"has Python code that passes its tests within {self.seconds:g} s",
        }[self.kind]

    def fault(self, answer: str) -> str:
        """The reason why an answer is wrong, in one line; empty if it is right."""
        expected = str(self.expected)
        if self.kind == PYTHON:
            code = python_code(answer)
            return code_runner.run_with_tests(code, expected, self.seconds) if code else "no block of Python code"
        if self.kind == NUMBER:
            # The last digit of a tolerance is not exact in binary.
            margin = self.tolerance * (1 + 1e-9)
            passed = any(abs(number - float(self.expected)) <= margin for number in numbers_in(answer))
        elif self.kind == REGEX:
            passed = bool(re.search(expected, answer, re.IGNORECASE if self.ignore_case else 0))
        else:
            if self.ignore_case:
                expected, answer = expected.casefold(), answer.casefold()
            passed = expected in answer if self.kind == CONTAINS else expected.strip() == answer.strip()
        return "" if passed else f"fails: {self.rule}"


@dataclass(frozen=True)
class PromptQuestion:
    """A question. Without a check its answers are only read."""

    name: str
    prompt: str
    system: str = ""
    checks: tuple[AnswerCheck, ...] = ()

    def messages(self) -> list[Message]:
        """The question as a chat."""
        system = [Message("system", self.system)] if self.system else []
        return [*system, Message("user", self.prompt)]

    def fault(self, answer: str) -> str:
        """What the first check that fails says of an answer; empty if all pass."""
        return next((fault for check in self.checks if (fault := check.fault(answer[:MOST_CHARACTERS]))), "")


@dataclass
class _QuestionTable:
    """A question in a file. `check` is short for one of `checks`."""

    name: Text
    prompt: Text
    system: str = ""
    check: dict[str, Any] | None = None
    checks: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class _QuestionFile:
    questions: Annotated[list[_QuestionTable], Size(1)]


def read_questions(file: str | PathLike[str] | None = None) -> list[PromptQuestion]:
    """The questions of a file, by default those that ship with the package."""
    where = "the questions of the package" if file is None else str(file)
    shipped = resources.files("glasshouse.llms").joinpath("questions.toml")
    try:
        content = toml_text.parse(shipped.read_text("utf-8")) if file is None else toml_text.read(Path(file))
        questions = [_question(table) for table in as_type(content, _QuestionFile).questions]
    except OSError as error:
        raise GlasshouseError(f"{where} cannot be read ({error.strerror}); name a TOML file with questions") from None
    except (ValueError, SyntaxError, re.error) as error:
        raise GlasshouseError(
            f"{where}: this is not a TOML list of questions: {error}; write each question as [[questions]] with a name, "
            "a prompt, and for example check = {contains = 'Paris'}"
        ) from None
    names = [question.name for question in questions]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise GlasshouseError(f"{where}: two questions have the name {twice!r}; give each its own")
    return questions


def _question(table: _QuestionTable) -> PromptQuestion:
    checks = [*([table.check] if table.check is not None else []), *table.checks]
    where = f"question {table.name}"
    return PromptQuestion(table.name, table.prompt.strip(), table.system, tuple(parse_check(each, where) for each in checks))


def parse_check(table: dict[str, Any], where: str = "a check") -> AnswerCheck:
    """A check from its table, such as `{number = 2.96, tolerance = 0.01}`. Every fault is a ValueError or a SyntaxError."""
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) != 1:
        raise ValueError(f"{where} names not one kind of check; the kinds are: {', '.join(KINDS)}")
    kind, fields = kinds[0], FIELDS[kinds[0]]
    for name, value in table.items():
        if name not in fields:
            raise ValueError(f"{where}: the check {kind!r} has no field {name!r}; its fields are: {', '.join(fields)}")
        as_type(value, fields[name], f"{where}: {name}")
    if not str(table[kind]).strip():
        raise ValueError(f"{where}: {kind} is empty")
    if kind == REGEX:
        re.compile(table[kind])
    if kind == PYTHON:
        compile(table[kind], "tests", "exec")
    return AnswerCheck(kind, **{"expected" if name == kind else name: value for name, value in table.items()})


def numbers_in(text: str) -> list[float]:
    """All numbers of a text."""
    found = (match.group() for match in _NUMBERS.finditer(text))
    return [float(number.replace(",", "").replace("−", "-")) for number in found if any(map(str.isdigit, number))]


def python_code(answer: str) -> str:
    """The code of the Python blocks of an answer, in order; blocks without a language count if none is marked as Python.

    A block that was cut off counts to its end.
    """
    blocks = [(match.group(2).lower(), match.group(3)) for match in _FENCE.finditer(answer)]
    marked = [code for language, code in blocks if language in _PYTHON_NAMES]
    return "\n".join(marked or [code for language, code in blocks if not language])
