"""JSON in files, perhaps from somebody else: size and nesting are bounded, and every fault is a ValueError."""

import json
from pathlib import Path
from typing import Any

# Far more than any file of a run, a study or a claim has.
MOST_BYTES = 256 * 2**20


def read(path: Path, most_bytes: int = MOST_BYTES) -> Any:
    """The value in a file. Raises OSError if the file cannot be read, and ValueError if it is no JSON that can be kept."""
    if (size := path.stat().st_size) > most_bytes:
        raise ValueError(f"it has {size:,} bytes, and at most {most_bytes:,} are read")
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str | bytes) -> Any:
    """The value in a text. Raises ValueError if it is no JSON, or is nested deeper than Python can read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
