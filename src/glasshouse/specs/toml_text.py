"""TOML that a person or somebody else wrote: size and nesting are bounded, and every fault is a `TOMLDecodeError`."""

import stat
import tomllib
from pathlib import Path
from typing import Any

# Far more than a spec, a list of models or questions, or a cluster's settings have.
MOST_BYTES = 16 * 2**20


def parse(text: str) -> dict[str, Any]:
    """The tables in a text."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("its values are nested too deeply") from None
    except ValueError as error:  # a number of more digits than Python reads, or a date that is none
        raise tomllib.TOMLDecodeError(str(error)) from None


def read(path: Path) -> dict[str, Any]:
    """The tables in a file. Raises OSError and UnicodeDecodeError as well."""
    return parse(read_text(path))


def read_text(path: Path) -> str:
    """The text of a file that should be TOML; a device or a very large file is not read."""
    facts = path.stat()
    if stat.S_ISREG(facts.st_mode) and facts.st_size > MOST_BYTES:
        raise tomllib.TOMLDecodeError(f"it has {facts.st_size:,} bytes, and at most {MOST_BYTES:,} are read")
    if not stat.S_ISREG(facts.st_mode) and not stat.S_ISDIR(facts.st_mode):
        raise tomllib.TOMLDecodeError("it is no plain file")
    return path.read_text(encoding="utf-8")
