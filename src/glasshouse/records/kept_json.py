"""JSON in files, perhaps from somebody else: size, nesting and schema are checked, and every fault is a ValueError."""

import json
from pathlib import Path
from typing import Any

from glasshouse.records import kept_schema, plain_files

# Far more than any file of a run, a study or a claim has; a tokenizer or the values of a claim can be large.
MOST_BYTES = 256 * 2**20
# Of files with facts alone: run.json, study.json, scaling.json, state.json.
MOST_FACTS = 16 * 2**20
MOST_DEPTH = 100


def read(path: Path, schema: Any = Any, most_bytes: int = MOST_BYTES) -> Any:
    """The value in a file. Raises OSError if the file cannot be read, and ValueError if it is no JSON that can be kept.

    `schema` is a type, as `kept_schema` describes it.
    """
    return parse(plain_files.read_bytes(path, most_bytes), schema)


def parse(text: str | bytes, schema: Any = Any) -> Any:
    """The value in a text. Raises ValueError if it is no JSON, is nested too deeply, or does not fit the schema."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    if is_deeper(value, text, MOST_DEPTH):
        raise ValueError(f"its values are nested more than {MOST_DEPTH} deep")
    kept_schema.check(value, schema)
    return value


def _brackets(text: str | bytes) -> int:
    """The number of opening brackets: at least the depth. Most texts have too few to be deep."""
    return text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")


def is_deeper(value: Any, text: str | bytes, depth: int) -> bool:
    """Whether the value of a text is nested more than so deep."""
    if _brackets(text) <= depth:
        return False
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        entries = (entry for outer in level for entry in (outer.values() if isinstance(outer, dict) else outer))
        level = [entry for entry in entries if isinstance(entry, dict | list)]
    return bool(level)
