"""The answers of a grid in its folder: `grid.json` says what is asked, `answers.jsonl` has a line for each answer.

A line is on the disk before the next question is asked, so a grid that was killed continues where it stopped.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from glasshouse.records import atomic_files, kept_json, kept_schema
from glasshouse.records.journals import JournalFile
from glasshouse.specs.errors import GlasshouseError

DESIGN: Final = "grid.json"
ANSWERS: Final = "answers.jsonl"


@dataclass(frozen=True)
class GridAnswer:
    """One answer. `repeat` counts from 0. `passed` is None without a check; `reason` says why an answer is wrong.

    A `cached` answer is the first one again: it took no time and cost nothing.
    """

    question: str
    model: str
    repeat: int
    seed: int
    text: str
    finish: str
    prompt_tokens: int
    tokens: int
    seconds: float
    cost: float | None = None
    passed: bool | None = None
    reason: str = ""
    cached: bool = False

    @property
    def cell(self) -> tuple[str, str, int]:
        """What was asked: the question, the model and the repeat."""
        return self.question, self.model, self.repeat


class AnswerJournal:
    """The folder of a grid. `answers` are those so far, by cell."""

    def __init__(self, folder: Path, design: Mapping[str, Any]) -> None:
        self.folder = folder
        self.answers: dict[tuple[str, str, int], GridAnswer] = {}
        self._file: JournalFile | None = None
        if folder.exists() and not folder.is_dir():
            raise GlasshouseError(f"{folder} is a file; name a folder with --output")
        asked = json.loads(json.dumps(design))
        if (folder / DESIGN).exists():
            self._compare(asked)
        elif folder.exists() and any(folder.iterdir()):
            raise GlasshouseError(f"{folder} holds other files and no grid; name a new or an empty folder with --output")
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / DESIGN).exists():
            atomic_files.write_json(folder / DESIGN, asked)
        self._read()

    def _compare(self, asked: dict[str, Any]) -> None:
        """Refuse a folder with another grid."""
        try:
            found = kept_json.read(self.folder / DESIGN, dict[str, Any])
        except (OSError, ValueError) as error:
            raise GlasshouseError(
                f"{self.folder / DESIGN} is damaged ({error}); name another folder with --output"
            ) from None
        changed = [name for name in asked if found.get(name) != asked[name]]
        if "options" in changed and isinstance(found.get("options"), dict):
            changed.remove("options")
            before = found["options"]
            changed += [
                f"{name} ({before.get(name)} there, {value} here)"
                for name, value in asked["options"].items()
                if before.get(name) != value
            ]
        if changed:
            raise GlasshouseError(
                f"{self.folder} holds the answers of another grid; different are: {', '.join(changed)}; "
                "name another folder with --output, or leave it out"
            )

    def _read(self) -> None:
        path = self.folder / ANSWERS
        names = {field.name for field in fields(GridAnswer)}
        self._file = JournalFile(path)
        for line in self._file.lines:
            try:
                table = kept_json.parse(line, dict[str, Any])
                known = {name: value for name, value in table.items() if name in names}
                kept_schema.check(known, GridAnswer)
            except ValueError:
                continue  # a damaged line: its question is asked again
            answer = GridAnswer(**known)
            self.answers.setdefault(answer.cell, answer)

    def add(self, answer: GridAnswer) -> None:
        """Keep an answer. It is on the disk when this returns."""
        assert self._file is not None
        self.answers[answer.cell] = answer
        self._file.write(asdict(answer))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
