"""Journals: files with one JSON value a line, which grow while something runs and are read again after a kill."""

import json
import os
from pathlib import Path
from typing import IO, Any

from glasshouse.records import plain_files


class JournalFile:
    """A journal that may exist already. `lines` are its complete lines.

    A last line that a kill cut off is removed by the first write, not before: the caller may find that this is another file.
    The only line of a file counts as complete, for the same reason.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        plain_files.refuse_no_file(path)
        content = plain_files.read_bytes(path) if path.exists() else b""
        self._end = content.rfind(b"\n") + 1 or len(content)
        self.lines = content[: self._end].decode(errors="replace").splitlines()
        self._file: IO[bytes] | None = None

    def write(self, value: Any, to_disk: bool = True) -> None:
        """Append a value. It outlives this process; with `to_disk` it outlives the machine too, which takes longer."""
        if self._file is None:
            self._file = plain_files.open_to_write(self._path, append=True)
            self._file.truncate(self._end)
            if self._end:
                self._file.seek(self._end - 1)
                if self._file.read(1) != b"\n":
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
