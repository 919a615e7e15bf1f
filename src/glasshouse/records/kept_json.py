"""JSON in files, perhaps from somebody else, as values of declared types. Size and nesting are bounded."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glasshouse.records import plain_files
from glasshouse.records.kept_schema import as_type
from glasshouse.specs.errors import GlasshouseError, RunError

# Far more than any file of a run, a study or a claim has; a tokenizer or the values of a claim can be large.
MOST_BYTES = 256 * 2**20
# Of files with facts alone: run.json, study.json, scaling.json, state.json.
MOST_FACTS = 16 * 2**20
MOST_DEPTH = 100


def read(path: Path, kind: Any = Any, most_bytes: int = MOST_BYTES) -> Any:
    """The value in a file, as a type of `kept_schema`. Raises OSError, and ValueError as `parse` does."""
    return parse(plain_files.read_bytes(path, most_bytes), kind)


def required(
    path: Path, kind: Any, remedy: str, refusal: type[GlasshouseError] = RunError, most_bytes: int = MOST_BYTES
) -> Any:
    """The value in a file that must be there. The error for the user says what is wrong with the file, and the remedy."""
    try:
        return read(path, kind, most_bytes)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise refusal(f"{path} cannot be read as JSON ({reason}); {remedy}") from None


def parse(text: str | bytes, kind: Any = Any) -> Any:
    """The value in a text. Raises ValueError if it is no JSON, is nested too deeply, or does not fit the type."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    if is_deeper(value, text, MOST_DEPTH):
        raise ValueError(f"its values are nested more than {MOST_DEPTH} deep")
    return as_type(value, kind)


def refuse_newer(table: Mapping[str, Any], newest: int, where: object) -> None:
    """Refuse the content of a file whose format a later release has introduced."""
    written = table.get("format", 0)
    if not isinstance(written, int) or written > newest:
        formats = f"format {written}; this one reads up to {newest}"
        raise RunError(f"{where} was written by a newer Glasshouse ({formats}); upgrade: pip install --upgrade glasshouse")


def is_deeper(value: Any, text: str | bytes, depth: int) -> bool:
    """Whether the value of a text is nested more than so deep."""
    brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if brackets <= depth:  # as in most texts
        return False
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        entries = (entry for outer in level for entry in (outer.values() if isinstance(outer, dict) else outer))
        level = [entry for entry in entries if isinstance(entry, dict | list)]
    return bool(level)


def without_nan(value: Any) -> Any:
    """The value for a file of JSON, which has no NaN and no infinity: they become null."""
    if isinstance(value, dict):
        return {str(name): without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
