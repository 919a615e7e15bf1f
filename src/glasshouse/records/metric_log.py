"""The metric log `metrics.jsonl`: one JSON object per line, each with its step. Training appends to it."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from glasshouse.records import atomic_files, kept_json, kept_schema, plain_files
from glasshouse.specs.errors import RunError

# The last line of a metric log is shorter than this number of bytes.
TAIL_BYTES = 4096
MOST_STEPS = 10**12


def append(path: Path, *rows: dict[str, Any]) -> None:
    """Append one line per row. A crash can only lose or truncate the last lines."""
    with plain_files.open_to_write(path, append=True) as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows).encode())


def read(path: Path) -> list[dict[str, Any]]:
    """Every complete row, in order. A line that a crash truncated is skipped."""
    try:
        return _parsed(plain_files.read_bytes(path).splitlines())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}; put the log back, or delete {path.name}") from None


def last_row(path: Path) -> dict[str, Any]:
    """The last complete row, without reading the rest; empty if there is none."""
    return next(reversed(tail_rows(path)), {})


def some_rows(content: bytes, points: int) -> list[dict[str, Any]]:
    """Rows of a log, in order, of which few are parsed: the first, the last, about `points` training rows, evaluations.

    Of more than `points` evaluations, `points` are kept.
    """
    starts = {0}
    for number in range(1, points):
        starts.add(content.find(b"\n", number * len(content) // points) + 1)
    end = content.rfind(b"\n")
    # The last two lines: an evaluation is often the last, and a training row stands before it.
    for _ in range(2):
        end = content.rfind(b"\n", 0, max(end, 0))
        starts.add(end + 1)
    evaluations, at = [], content.find(b'"validation.')
    while at >= 0:
        evaluations.append(content.rfind(b"\n", 0, at) + 1)
        at = content.find(b'"validation.', max(content.find(b"\n", at), at + 1))
    kept = range(0, len(evaluations), max(1, -(-len(evaluations) // points)))
    starts |= {evaluations[index] for index in kept} | set(evaluations[-1:])
    ends = ((start, content.find(b"\n", start)) for start in sorted(starts))
    return _parsed([content[start : end if end >= 0 else None] for start, end in ends])


def tail_rows(path: Path, most_bytes: int = TAIL_BYTES) -> list[dict[str, Any]]:
    """The last row, and the last evaluation if it is among the last bytes, in order; empty if there is none."""
    try:
        with plain_files.open_to_read(path) as file:
            file.seek(max(file.seek(0, os.SEEK_END) - most_bytes, 0))
            content = file.read()
    except OSError:
        return []
    lines = content.splitlines()[-2:]
    at = content.rfind(b'"validation.loss"')
    if at >= 0:
        start, end = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", at)
        lines.insert(0, content[start : end if end >= 0 else None])
    return _parsed(lines)


def _parsed(lines: list[bytes]) -> list[dict[str, Any]]:
    """The rows of these lines. One that is still being written, or that a crash truncated, is left out."""
    try:
        values = kept_json.parse(b"[" + b",".join(filter(None, lines)) + b"]")
    except ValueError:
        values = []
        for line in lines:
            with suppress(ValueError):
                values.append(kept_json.parse(line))
    rows = [row for row in values if isinstance(row, dict) and type(row.get("step")) is int]
    return [
        {name: value for name, value in row.items() if value is None or kept_schema.is_number(value)}
        for row in rows
        if 0 <= row["step"] <= MOST_STEPS
    ]


def rewind(path: Path, step: int) -> None:
    """Delete the rows after `step`. A run that resumes from there logs them again."""
    kept = [row for row in read(path) if row["step"] <= step]
    atomic_files.write_text(path, "".join(json.dumps(row) + "\n" for row in kept))


def column(rows: list[dict[str, Any]], name: str) -> tuple[list[float], list[float]]:
    pairs = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    return [float(step) for step, _ in pairs], [float(value) for _, value in pairs]
