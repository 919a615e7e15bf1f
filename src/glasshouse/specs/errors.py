"""Errors a person can act on: the rule, the value that broke it, the remedy. Commands print them and exit with 2."""


class GlasshouseError(Exception):
    """Something the caller can put right. Anything else that is raised is a fault of ours and keeps its traceback."""

    code = 2  # what a command exits with


class Interrupted(GlasshouseError):
    """A signal asked the run to stop, and it has saved."""

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.code = 128 + signal


class SpecError(GlasshouseError):
    """A spec that cannot be: an unknown field, a wrong type, a value out of range, parts that do not fit together."""


class DataError(GlasshouseError):
    """Text that cannot be read, or that does not suffice for what was asked."""


class RunError(GlasshouseError):
    """A run folder that is missing, foreign, in use, damaged or from a newer version."""


class CannotExport(GlasshouseError):
    """A run that another program's files have no words for."""


class MissingExtra(GlasshouseError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed; install it with: pip install {package}"
        )
