"""The status of a run or a study, as it is recorded and as it is found."""

from enum import StrEnum


class Status(StrEnum):
    """All but INTERRUPTED are recorded; that one is found where a run should be training and no process trains it."""

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
        """The status of this name; UNKNOWN for a word that this version does not know."""
        return next((status for status in cls if status == text), cls.UNKNOWN)
