"""Locks on folders and files. One process at a time holds one; the system releases it when the process ends or is killed."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from glasshouse.specs.errors import RunError

FILE = ".lock"


def is_held(folder: Path) -> bool:
    """Whether some process holds the folder's lock."""
    try:
        with open(folder / FILE, encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def holder(folder: Path) -> int | None:
    """The id of the process that holds the folder's lock; None if none does."""
    try:
        return int((folder / FILE).read_text(encoding="utf-8")) if is_held(folder) else None
    except (OSError, ValueError):
        return None


@contextmanager
def hold(folder: Path, remedy: str) -> Iterator[None]:
    """Hold the folder's lock in this process. If another process holds it, RunError names that process and the remedy."""
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


@contextmanager
def wait_for(path: Path) -> Iterator[None]:
    """Hold a lock file of work that must not be done twice. Waits while another process holds it."""
    with open(path, "a", encoding="utf-8") as file:
        _acquire(file, fcntl.LOCK_EX)
        yield


@contextmanager
def attempt(path: Path) -> Iterator[bool]:
    """Hold a lock file unless another process does. Yields whether it is held."""
    with open(path, "a", encoding="utf-8") as file:
        yield _acquire(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _acquire(file: IO[str], operation: int) -> bool:
    try:
        fcntl.flock(file, operation)
    except BlockingIOError:
        return False
    except OSError:
        pass  # A shared file system without locks: work may be done twice, but every file is still replaced as a whole.
    return True
