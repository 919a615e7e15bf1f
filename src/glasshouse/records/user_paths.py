"""Paths as a person writes them, and the person's home folder."""

import os
from pathlib import Path

from glasshouse.specs.errors import GlasshouseError

StrPath = str | os.PathLike[str]


def checked(name: object, what: str) -> Path:
    """The path, or the name as one, of something that a caller names. Refuses what is neither a text nor a path."""
    if not isinstance(name, (str, os.PathLike)):
        raise GlasshouseError(f"{what} is named by a text or a path, and {name!r:.100} is neither")
    return Path(name)


def expand(name: str | os.PathLike[str]) -> Path:
    """A path with `~` as the home folder. The name of an unknown user stays as it is written, as in a shell."""
    return Path(os.path.expanduser(name))


def home() -> Path | None:
    """The user's home folder. A user without a name and without HOME has none, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None
