"""Errors that the user can act on, as values: what is wrong, the field and its value, and what to do.

They are put into words where they are told. A command names its own options (`--margin 0.1`); a function call names its
arguments (`margin=0.1`). Commands print them and exit with status 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

LONGEST_MESSAGE = 1500
"""Characters of a message that quotes data, such as the names of its columns."""
NOT_GIVEN: object = object()


@dataclass(frozen=True)
class Remedy:
    """A field to set, in the reader's own words for it. `value` is as typed, such as NAME; `how` stands in front."""

    field: str
    value: str
    how: str = "set"


# A field with its value, as the one who is told an error writes it; empty if that one cannot set the field.
Assignment = Callable[[str, object], str]


def as_argument(field: str, value: object) -> str:
    """A field with its value, as one calls a function or writes a spec."""
    quoted = isinstance(value, str) and not isinstance(value, Verbatim)
    return f"{field}={value!r}" if quoted else f"{field}={plain(value)}"


class Verbatim(str):
    """A value as it was typed, or a placeholder such as NAME: shown without quotes."""


class GlasshouseError(Exception):
    """An error that the caller can correct. Any other exception is a bug in Glasshouse and keeps its traceback.

    `problem` states the rule that was broken, and mostly the remedy after a semicolon. With a `field` and its `value` it
    goes on after them: `GlasshouseError("is below the minimum; choose 1 or more", "tokens", 0)`. A field of a spec has its
    dotted name. `remedies` are those that a reader words differently, or has no way to follow; one of them is enough.
    """

    exit_status = 2

    def __init__(
        self, problem: str, field: str = "", value: object = NOT_GIVEN, remedies: Sequence[Remedy | str] = ()
    ) -> None:
        super().__init__(problem)
        self.problem, self.field, self.value, self.remedies = problem, field, value, tuple(remedies)
        self.where = ""

    def within(self, where: str) -> Self:
        """The same error, which names the file or the arm around it."""
        self.where = f"{where}: {self.where}"
        return self

    def told(self, assigned: Assignment = as_argument) -> str:
        """The error in words."""
        subject = ""
        if self.value is not NOT_GIVEN:
            subject = f"{assigned(self.field, self.value) or as_argument(self.field, self.value)} "
        ways = [remedy if isinstance(remedy, str) else _way(remedy, assigned) for remedy in self.remedies]
        remedy = f"; {', or '.join(filter(None, ways)) or 'correct it'}" if ways else ""
        return _shortened(f"{self.where}{subject}{self.problem}{remedy}")

    def __str__(self) -> str:
        return self.told()


def _way(remedy: Remedy, assigned: Assignment) -> str:
    words = assigned(remedy.field, Verbatim(remedy.value))
    return words and f"{remedy.how} {words}"


def plain(value: object) -> str:
    """A value as one types it."""
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _shortened(message: str) -> str:
    if len(message) <= LONGEST_MESSAGE:
        return message
    # The beginning says what is wrong, and the end what to do.
    return f"{message[: LONGEST_MESSAGE * 2 // 3]} ... {message[-LONGEST_MESSAGE // 3 :]}"


class Interrupted(GlasshouseError):
    """A signal stopped the work, and the progress is saved. `reached` describes the progress, `command` continues it."""

    def __init__(self, signal: int, reached: str, command: str = "") -> None:
        super().__init__(f"{reached}; continue with: {command}" if command else reached)
        self.signal, self.reached = signal, reached
        self.exit_status = 128 + signal


class SpecError(GlasshouseError):
    """An invalid spec: an unknown field, a wrong type, a value out of range, or parts that do not fit together."""


class DataError(GlasshouseError):
    """Data that cannot be read, or that are too few for the task. What a message quotes of the data stays on its line."""

    def told(self, assigned: Assignment = as_argument) -> str:
        return super().told(assigned).replace("\r", "\\r").replace("\n", "\\n")


class LimitExceeded(DataError):
    """A file of the user that is beyond a limit. Reading it in another way would take long too."""


class RunError(GlasshouseError):
    """A run folder that is missing, in use, damaged, written by a newer version, or not a run folder at all."""


class UnknownRun(RunError):
    """A name that no run has."""


class CannotImport(GlasshouseError):
    """An external model file that is damaged, has an unknown format, or holds something no Glasshouse model can express."""


class CannotExport(GlasshouseError):
    """A run that another program's file format cannot express."""


class LaunchError(GlasshouseError):
    """A job that a cluster cannot run, a cluster file that cannot be read, or a cluster that does not answer."""


class NoSlurm(LaunchError):
    """A machine without Slurm's programs."""


class MissingExtra(GlasshouseError):
    """An optional dependency that is not installed. `install` are all packages of this purpose."""

    def __init__(self, package: str, purpose: str, install: str = "") -> None:
        super().__init__(f"{purpose} needs the package {package!r}; install it with: pip install {install or package}")
