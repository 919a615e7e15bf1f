"""Errors that the user can act on. Commands print them and exit with status 2.

Each error has a code and a message. The code names the broken rule (`heads-divide-width`) and never changes, so tests and
programs compare codes. The message states the rule, the value that broke it and the remedy; its wording may change.
"""

LONGEST_MESSAGE = 1500
"""Characters of a message that quotes data, such as the names of its columns."""


class GlasshouseError(Exception):
    """An error that the caller can correct. Any other exception is a bug in Glasshouse and keeps its traceback."""

    exit_status = 2

    def __init__(self, code: str, message: str) -> None:
        if len(message) > LONGEST_MESSAGE:
            # The beginning says what is wrong, and the end what to do.
            message = f"{message[: LONGEST_MESSAGE * 2 // 3]} ... {message[-LONGEST_MESSAGE // 3 :]}"
        super().__init__(message)
        self.code = code


class Interrupted(GlasshouseError):
    """A signal stopped the work, and the progress is saved. `reached` describes the progress, `command` continues it."""

    def __init__(self, signal: int, reached: str, command: str = "") -> None:
        super().__init__("interrupted", f"{reached}; continue with: {command}" if command else reached)
        self.signal, self.reached = signal, reached
        self.exit_status = 128 + signal


class SpecError(GlasshouseError):
    """An invalid spec: an unknown field, a wrong type, a value out of range, or parts that do not fit together."""


class DataError(GlasshouseError):
    """Data that cannot be read, or that are too few for the task. What a message quotes of the data stays on its line."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message.replace("\r", "\\r").replace("\n", "\\n"))


class LimitExceeded(DataError):
    """A file of the user that is beyond a limit. Reading it in another way would take long too."""


class RunError(GlasshouseError):
    """A run folder that is missing, in use, damaged, written by a newer version, or not a run folder at all."""


class CannotImport(GlasshouseError):
    """An external model file that is damaged, has an unknown format, or holds something no Glasshouse model can express."""


class CannotExport(GlasshouseError):
    """A run that another program's file format cannot express."""


class LaunchError(GlasshouseError):
    """A job that a cluster cannot run, a cluster file that cannot be read, or a cluster that does not answer."""


class MissingExtra(GlasshouseError):
    """An optional dependency that is not installed. `install` are all packages of this purpose."""

    def __init__(self, package: str, purpose: str, install: str = "") -> None:
        super().__init__(
            "missing-package",
            f"{purpose} needs the package {package!r}, which is not installed; "
            f"install it with: pip install {install or package}",
        )
