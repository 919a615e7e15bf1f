"""The status of a run or a study."""

from enum import StrEnum


class Status(StrEnum):
    """Every status is recorded except INTERRUPTED, which means: recorded as training, but no process trains the run."""

    NEW = "new"
    TRAINING = "training"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"
    IMPORTED = "imported"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"

    @classmethod
    def read(cls, text: object) -> "Status":
        """The status with this name, or UNKNOWN for a name that this version does not know."""
        return next((status for status in cls if status == text), cls.UNKNOWN)
