"""What makes an answer right: an exact text, a number, a regular expression, a part of the text, or tests of its code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from glasshouse.llms import code_runner
from glasshouse.specs.errors import GlasshouseError

EXACT, NUMBER, REGEX, CONTAINS, PYTHON = KINDS = ("exact", "number", "regex", "contains", "python")
# The options of each kind of check.
OPTIONS: Final = {
    EXACT: ("ignore_case",),
    NUMBER: ("tolerance",),
    REGEX: ("ignore_case",),
    CONTAINS: ("ignore_case",),
    PYTHON: ("seconds",),
}
# Thousands may be separated by commas; a point that ends a sentence is no part of a number.
_NUMBERS: Final = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:[eE][-+]?\d+)?")
_FENCE: Final = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_PYTHON_NAMES: Final = ("python", "python3", "py")
MOST_CHARACTERS: Final = 20_000


@dataclass(frozen=True)
class CheckOutcome:
    """Whether an answer is right; if not, the reason in one line."""

    passed: bool
    reason: str = ""


@dataclass(frozen=True)
class AnswerCheck:
    """One check. `expected` is a text, or a number for the kind `number`; for `python` it is the code of the tests."""

    kind: str
    expected: str | float
    tolerance: float = 0.0
    ignore_case: bool = False
    seconds: float = code_runner.SECONDS

    def check(self, answer: str) -> CheckOutcome:
        """Judge an answer."""
        answer = answer[:MOST_CHARACTERS]
        if self.kind == NUMBER:
            found = numbers_in(answer)
            # The last digit of a tolerance is not exact in binary.
            near = any(abs(number - float(self.expected)) <= self.tolerance * (1 + 1e-9) for number in found)
            return CheckOutcome(near, "" if near else f"no number within {self.tolerance:g} of {self.expected:g}")
        if self.kind == PYTHON:
            code = python_code(answer)
            if not code:
                return CheckOutcome(False, "no block of Python code")
            outcome = code_runner.run_with_tests(code, str(self.expected), self.seconds)
            return CheckOutcome(outcome.passed, outcome.reason)
        expected = str(self.expected)
        if self.kind == REGEX:
            passed = re.search(expected, answer, re.IGNORECASE if self.ignore_case else 0) is not None
            return CheckOutcome(passed, "" if passed else f"does not match {expected}")
        if self.ignore_case:
            expected, answer = expected.casefold(), answer.casefold()
        if self.kind == CONTAINS:
            passed = expected in answer
            return CheckOutcome(passed, "" if passed else f"does not contain {self.expected!r}")
        passed = expected.strip() == answer.strip()
        return CheckOutcome(passed, "" if passed else f"is not {self.expected!r}")


def parse_check(where: str, table: Any) -> AnswerCheck:
    """A check from a table of a file of questions, such as `{number = 2.96, tolerance = 0.01}`."""
    kinds = [kind for kind in KINDS if isinstance(table, dict) and kind in table]
    if len(kinds) != 1:
        raise _bad(where, f"a check names one of: {', '.join(KINDS)}", "write for example check = {contains = 'Paris'}")
    kind = kinds[0]
    options = {name: value for name, value in table.items() if name != kind}
    for name in options:
        if name not in OPTIONS[kind]:
            raise _bad(where, f"the check {kind!r} has no option {name!r}", f"its options: {', '.join(OPTIONS[kind])}")
    expected = table[kind]
    _check_types(where, kind, expected, options)
    return AnswerCheck(kind, expected, **options)


def check_all(checks: tuple[AnswerCheck, ...], answer: str) -> CheckOutcome | None:
    """The outcome of all checks together: the first that fails decides. None without a check."""
    outcomes = [check.check(answer) for check in checks]
    return next((outcome for outcome in outcomes if not outcome.passed), outcomes[0] if outcomes else None)


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


def _check_types(where: str, kind: str, expected: Any, options: Mapping[str, Any]) -> None:
    is_number = isinstance(expected, int | float) and not isinstance(expected, bool)
    if is_number != (kind == NUMBER) or not (is_number or isinstance(expected, str)):
        raise _bad(where, f"{kind}={expected!r} is not a {'number' if kind == NUMBER else 'text'}", "correct it")
    if isinstance(expected, str) and not expected.strip():
        raise _bad(where, f"{kind} is empty", "leave the check out, or say what is expected")
    for name, value in options.items():
        right = isinstance(value, bool) if name == "ignore_case" else type(value) in (int, float) and 0 <= value <= 3600
        if not right:
            raise _bad(
                where, f"{name}={value!r} is not {'true or false' if name == 'ignore_case' else 'a number'}", "correct it"
            )
    try:
        if kind == REGEX:
            re.compile(expected)
        if kind == PYTHON:
            compile(expected, "tests", "exec")
    except (re.error, SyntaxError) as error:
        raise _bad(where, f"{kind} cannot be read: {error}", "correct it") from None


def _bad(where: str, rule: str, remedy: str) -> GlasshouseError:
    return GlasshouseError(f"{where}: {rule}; {remedy}")
