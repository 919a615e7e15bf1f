"""Paths as a person writes them, and the person's home folder."""

import os
from pathlib import Path


def expand(name: str | os.PathLike[str]) -> Path:
    """A path with `~` as the home folder. The name of an unknown user stays as it is written, as in a shell."""
    return Path(os.path.expanduser(name))


def home() -> Path | None:
    """The user's home folder. A user without a name and without HOME has none, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None
