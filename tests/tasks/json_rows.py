"""A source of documents with any columns, for tests: JSON lines with a text and further fields."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from glasshouse.data import prepared_data
from glasshouse.data.documents import Document, Source
from glasshouse.specs.spec import DataSpec


class JsonRows(Source):
    """Of every ten rows one is for validation and one for testing, unless the spec holds nothing out."""

    about = origin = licence = "for tests"

    def __init__(self, path: Path, held_out: bool) -> None:
        self.path, self.held_out = path, held_out

    def documents(self, split: str) -> Iterator[Document]:
        for number, line in enumerate(self.path.read_text().splitlines()):
            place = {0: "validation", 5: "test"}.get(number % 10, "train") if self.held_out else "train"
            if place == split:
                fields = json.loads(line)
                yield Document(fields.pop("text"), fields=fields)

    def fingerprint(self) -> str:
        return f"{self.path.read_text()} {self.held_out}"


def use_json_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read `data.files` as JSON rows."""

    def find_source(data: DataSpec, columns: tuple[str, ...] = ()) -> Source:
        return JsonRows(Path(data.files[0]), bool(data.validation))

    monkeypatch.setattr(prepared_data, "find_source", find_source)


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
