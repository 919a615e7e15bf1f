"""Locks on folders and files. One process at a time holds one; the system releases it when the process ends or is killed."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from glasshouse.records import plain_files
from glasshouse.specs.errors import RunError

FILE = ".lock"
# A process that looks whether a lock is held has it for less than this.
LOOK_SECONDS = 0.05
# The id of a process has fewer digits.
MOST_BYTES = 100


def is_held(folder: Path) -> bool:
    try:
        with plain_files.open_to_read(folder / FILE) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def holder(folder: Path) -> int | None:
    """The id of the process that holds the folder's lock; None if none does."""
    try:
        return int(plain_files.read_bytes(folder / FILE, MOST_BYTES)) if is_held(folder) else None
    except (OSError, ValueError):
        return None


@contextmanager
def hold(folder: Path, remedy: str) -> Iterator[None]:
    """Hold the folder's lock in this process. If another process holds it, RunError names that process and the remedy."""
    with plain_files.open_to_write(folder / FILE) as file:
        end = time.monotonic() + LOOK_SECONDS
        while not _acquire(file, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if time.monotonic() > end:
                raise RunError(f"{folder} is in use by another process (id {holder(folder) or 'unknown'}); {remedy}")
            time.sleep(LOOK_SECONDS / 10)
        file.truncate()
        file.write(str(os.getpid()).encode())
        file.flush()
        yield


@contextmanager
def wait_for(path: Path) -> Iterator[None]:
    """Hold a lock file of work that must not be done twice. Waits while another process holds it."""
    with plain_files.open_to_write(path) as file:
        _acquire(file, fcntl.LOCK_EX)
        yield


@contextmanager
def attempt(path: Path) -> Iterator[bool]:
    """Hold a lock file unless another process does. Yields whether it is held."""
    with plain_files.open_to_write(path) as file:
        yield _acquire(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _acquire(file: IO[bytes], operation: int) -> bool:
    try:
        fcntl.flock(file, operation)
    except BlockingIOError:
        return False
    except OSError:
        pass  # A shared file system without locks: work may be done twice, but every file is still replaced as a whole.
    return True
