"""The journal of a debate: a file with one line for everything that was asked and answered. Knows no model.

Each line is on the disk before the next question is asked.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

from glasshouse.records import kept_json, kept_schema
from glasshouse.records.journals import JournalFile
from glasshouse.records.kept_schema import Between, Count, Seconds, Seed
from glasshouse.specs.errors import GlasshouseError

FORMAT = 1


class DebateRecord(TypedDict):
    """What every line after the first has; the rest depends on its kind."""

    kind: str
    key: str


class MessageTable(TypedDict):
    """A message of a question."""

    role: str
    text: str


class TurnTable(TypedDict):
    """Whose turn it was."""

    topic: str
    temperature: Annotated[float, Between(0, 1e308)]
    round: Annotated[int, Between(1, 1e9)]
    number: Annotated[int, Between(1, 1e9)]
    side: str
    model: str


class PointRecord(DebateRecord, TurnTable):
    """A point that a model made."""

    seed: Seed
    messages: list[MessageTable]
    text: str
    finish: str
    tokens: Count
    seconds: Seconds


class VerdictRecord(DebateRecord):
    """What the judge said of two points."""

    judge: str
    A: TurnTable
    B: TurnTable
    messages: list[MessageTable]
    text: str
    finish: str


# What a line of each kind has. Every release has written all of it.
POINT, VERDICT = "point", "verdict"
SCHEMAS: Mapping[str, Any] = {POINT: PointRecord, VERDICT: VerdictRecord}


class DebateJournal:
    """Records by kind and key. A journal that was begun with other settings is refused."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._records: dict[tuple[str, str], dict[str, Any]] = {}
        header = {"format": FORMAT, **json.loads(json.dumps(settings))}
        self._file = JournalFile(path)
        lines = self._parsed(self._file.lines)
        if lines:
            self._check(header, lines[0])
        for line in lines[1:]:
            self._records[line.pop("kind"), line.pop("key")] = line
        if not lines:
            self._file.write(header)

    def find(self, kind: str, key: str) -> dict[str, Any] | None:
        return self._records.get((kind, key))

    def add(self, kind: str, key: str, record: Mapping[str, Any]) -> None:
        self._records[kind, key] = dict(record)
        self._file.write({"kind": kind, "key": key, **record})

    def close(self) -> None:
        self._file.close()

    def _parsed(self, texts: list[str]) -> list[dict[str, Any]]:
        """The records of the file."""
        lines = []
        for number, line in enumerate(texts, 1):
            try:
                lines.append(kept_json.parse(line, DebateRecord if number > 1 else Any))
                if number > 1:
                    kept_schema.check(lines[-1], SCHEMAS.get(lines[-1]["kind"], DebateRecord))
            except ValueError as error:
                raise GlasshouseError(
                    f"line {number} of {self.path} is damaged ({error}); delete that line if it is not the first, or start "
                    "again with --output and a new folder"
                ) from None
        return lines

    def _check(self, header: Mapping[str, Any], found: object) -> None:
        if not isinstance(found, dict) or "format" not in found:
            raise GlasshouseError(f"{self.path} does not begin as a debate; name another folder with --output")
        differing = [name for name in dict.fromkeys([*header, *found]) if header.get(name) != found.get(name)]
        if differing:
            name = differing[0]
            raise GlasshouseError(
                f"{self.path} holds a debate with {name}={found.get(name)!r}, not {header.get(name)!r}; repeat its options "
                "to continue it, or name another folder with --output"
            )
