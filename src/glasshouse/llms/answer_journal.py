"""The answers of an experiment in a file, one line each, so that an experiment that was killed continues.

Each line is on the disk before the next question is asked. Knows no model.
"""

import json
import os
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import IO, Any

from glasshouse import formatting
from glasshouse.records import containment, kept_json, plain_files
from glasshouse.specs.errors import GlasshouseError


class AnswerJournal:
    """`records` are the answers so far, by key. They are of the type `kind`; the question of a damaged line is asked again.

    With `asked`, the first line says what is asked, and a journal of something else is refused. Without a path nothing is
    kept. A last line that a kill cut off is removed by the first write, not before: this may be another file. The only line
    of a file counts as complete, for the same reason.
    """

    def __init__(
        self,
        path: Path | None,
        kind: Any,
        key: Callable[[Any], Hashable],
        asked: Mapping[str, Any] | None = None,
        option: str = "--output",
    ) -> None:
        self.records: dict[Any, Any] = {}
        self.path, self._key = path, key
        self._file: IO[bytes] | None = None
        if path is None:
            return
        plain_files.refuse_no_file(path)
        content = plain_files.read_bytes(path) if path.exists() else b""
        self._end = content.rfind(b"\n") + 1 or len(content)
        lines = content[: self._end].decode(errors="replace").splitlines()
        if asked is not None:
            if lines:
                refuse_other(path, lines[0], asked, option)
            else:
                self._write(asked, to_disk=True)
            lines = lines[1:]
        for line in lines:
            with suppress(ValueError):
                record = kept_json.parse(line, kind)
                self.records[key(record)] = record

    def add(self, record: Any, to_disk: bool = True) -> None:
        """Keep an answer. It outlives this process; with `to_disk` it outlives the machine too, which takes longer."""
        self.records[self._key(record)] = record
        self._write(asdict(record) if is_dataclass(record) and not isinstance(record, type) else record, to_disk)

    def _write(self, value: Any, to_disk: bool) -> None:
        if self.path is None:
            return
        if self._file is None:
            self._file = plain_files.open_to_write(self.path, append=True)
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


def refuse_other(path: Path, found: str | bytes, asked: Mapping[str, Any], option: str = "--output") -> None:
    """Refuse a file that says that something else was asked."""
    try:
        before = kept_json.parse(found, dict[str, Any])
    except ValueError as error:
        raise GlasshouseError(f"{path} does not say what was asked ({error}); name another with {option}") from None
    now = json.loads(json.dumps(asked))
    for name in dict.fromkeys([*now, *before]):
        if before.get(name) != now.get(name):
            old, new = (formatting.one_line(repr(table.get(name)), most=100) for table in (before, now))
            raise GlasshouseError(
                f"{path} holds answers with {name}={old}, not {new}; repeat its options to continue it, or name another "
                f"with {option}"
            )


def make_folder(folder: Path) -> None:
    """Make the folder of an experiment, unless it exists."""
    if folder.exists() and not folder.is_dir():
        raise GlasshouseError(f"{folder} is a file; name a folder with --output")
    folder.mkdir(parents=True, exist_ok=True)
    containment.refuse_links(folder)
