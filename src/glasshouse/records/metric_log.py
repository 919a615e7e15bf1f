"""The metric log, `metrics.jsonl`: one JSON object a line, each with its step. Appended as training goes."""

import json
from pathlib import Path
from typing import Any

from glasshouse.records import atomic_files


def append(path: Path, *rows: dict[str, Any]) -> None:
    """Add a line for each. A crash can lose or cut the last lines and no others."""
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def read(path: Path) -> list[dict[str, Any]]:
    """Every whole line, in order; a line cut short by a crash is passed over."""
    rows = []
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and isinstance(row.get("step"), int):
                rows.append(row)
    return rows


def rewind(path: Path, step: int) -> None:
    """Drop what was logged after `step`: a run that goes on from there will log it again."""
    kept = [row for row in read(path) if row["step"] <= step]
    atomic_files.write_text(path, "".join(json.dumps(row) + "\n" for row in kept))


def column(rows: list[dict[str, Any]], name: str) -> tuple[list[float], list[float]]:
    """Steps and values of one metric, where it was logged."""
    pairs = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    return [float(step) for step, _ in pairs], [float(value) for _, value in pairs]
