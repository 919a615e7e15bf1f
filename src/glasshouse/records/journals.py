"""Journals: files with one JSON value a line, which grow while something runs and are read again after a kill."""

import json
import os
from pathlib import Path
from typing import IO, Any


class JournalFile:
    """A journal that may exist already. `lines` are its complete lines.

    A last line that a kill cut off is removed by the first write, not before: the caller may find that this is another file.
    The only line of a file counts as complete, for the same reason.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        content = path.read_bytes() if path.exists() else b""
        self._end = content.rfind(b"\n") + 1 or len(content)
        self.lines = content[: self._end].decode(errors="replace").splitlines()
        self._file: IO[bytes] | None = None

    def write(self, value: Any, to_disk: bool = True) -> None:
        """Append a value. It outlives this process; with `to_disk` it outlives the machine too, which takes longer."""
        if self._file is None:
            self._file = self._path.open("ab")
            self._file.truncate(self._end)
            if self._end and not self._path.read_bytes().endswith(b"\n"):
                self._file.write(b"\n")
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()
        if to_disk:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
