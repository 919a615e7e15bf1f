"""Opening files in folders that somebody else may have made: plain files alone, and never through a link to write.

A pipe would be waited for, a device has no end, and what a link names lies elsewhere.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import IO

from glasshouse.records import containment
from glasshouse.specs.errors import RunError

# More than a log, a page or a journal has.
MOST_BYTES = 2**30


def open_to_read(path: Path) -> BufferedReader:
    """Open a plain file, or a link to one. OSError says what anything else is."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device and not a plain file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a plain file. OSError if it has more bytes; no more than these are read."""
    with open_to_read(path) as file:
        # A file that grows meanwhile is no reason to read for ever, and one that only says it is large takes no memory.
        if os.fstat(file.fileno()).st_size > most_bytes or len(content := file.read(most_bytes + 1)) > most_bytes:
            raise OSError(errno.EFBIG, f"it has more than {most_bytes:,} bytes", str(path))
        return content


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The text of a plain file; bytes that are no UTF-8 become signs."""
    return read_bytes(path, most_bytes).decode("utf-8", "replace")


def open_to_write(path: Path, append: bool = False, empty: bool = False) -> IO[bytes]:
    """Open a plain file to read and write, and create it if it is missing. With `empty`, its content is deleted.

    Refuses a link of either kind, behind which nothing is touched, and a pipe, a socket, a device or a folder: RunError.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_APPEND if append else 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            containment.refuse_link(path)
        refuse_no_file(path)
        raise
    try:
        refuse_no_file(path)
        if (names := os.lstat(path).st_nlink) > 1:
            remedy = "nothing is written through links; put a copy of the file in its place, or delete it"
            raise RunError(f"{path} is a hard link: the same file has {names - 1} other names; {remedy}")
        if empty:
            os.ftruncate(descriptor, 0)
        return os.fdopen(descriptor, "ab+" if append else "rb+")
    except BaseException:
        os.close(descriptor)
        raise


def refuse_no_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise RunError(f"{path} is a folder, a pipe, a socket or a device and not a plain file; delete it")
