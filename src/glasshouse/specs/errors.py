"""Errors that a person can act on. Commands print them and exit with status 2.

Each error has a code and a message. The code names the rule that was broken (`heads-divide-width`); tests and programs hold
on to it. The message says the rule, the value that broke it and the remedy, in words that may become better at any time.
"""


class GlasshouseError(Exception):
    """Something the caller can put right. Anything else that is raised is a fault of ours and keeps its traceback."""

    exit_status = 2

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(GlasshouseError):
    """A signal asked to stop, and what was done is saved. `reached` says how far it came, `command` what continues it."""

    def __init__(self, signal: int, reached: str, command: str = "") -> None:
        super().__init__("interrupted", f"{reached}; continue with: {command}" if command else reached)
        self.signal, self.reached = signal, reached
        self.exit_status = 128 + signal


class SpecError(GlasshouseError):
    """A spec that cannot be: an unknown field, a wrong type, a value out of range, parts that do not fit together."""


class DataError(GlasshouseError):
    """Data that cannot be read, or that do not suffice for what was asked."""


class RunError(GlasshouseError):
    """A run folder that is missing, foreign, in use, damaged or from a newer version."""


class CannotImport(GlasshouseError):
    """A file from elsewhere that is damaged, unknown, or holds what a model of ours cannot express."""


class CannotExport(GlasshouseError):
    """A run that another program's file format cannot express."""


class MissingExtra(GlasshouseError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, purpose: str) -> None:
        super().__init__(
            "missing-package",
            f"{purpose} needs the package {package!r}, which is not installed; install it with: pip install {package}",
        )
