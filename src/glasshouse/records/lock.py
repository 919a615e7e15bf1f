"""A lock on a folder: one process holds it, and the system lets go of it however the process ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glasshouse.specs.errors import RunError

FILE = ".lock"


def held(folder: Path) -> bool:
    """Whether a process holds the folder now."""
    try:
        with open(folder / FILE, encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


@contextmanager
def holding(folder: Path, remedy: str) -> Iterator[None]:
    """Hold the folder for this process; where another does, RunError names it and the remedy."""
    with open(folder / FILE, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise RunError("in-use", f"{folder} is in use by another process (id {holder}); {remedy}") from None
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield
