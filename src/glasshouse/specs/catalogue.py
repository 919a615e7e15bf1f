"""Catalogues: find the class that a name in a spec refers to, through Python entry points.

The names of a family can be listed and checked without importing torch or the part itself. A part is declared as an entry
point in the group `glasshouse.FAMILY`: ours in pyproject.toml, those of another package in its own.
"""

from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from glasshouse.specs.errors import SpecError


@cache
def _all_entries() -> Any:
    """The entry points of all installed packages. Reading them takes as long for one group as for all.

    The class differs between Python 3.11 and 3.12; both have `select`.
    """
    return entry_points()


@cache
def _entries(family: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(_all_entries().select(group=f"glasshouse.{family}"), key=lambda e: e.name)}


def names(family: str) -> list[str]:
    """Every name that a spec may use for this family, in alphabetical order."""
    return list(_entries(family))


def check(family: str, name: str, where: str) -> None:
    """Refuse a name that no package provides; `where` is the field that holds it."""
    if name not in _entries(family):
        raise SpecError(f"is not one of: {', '.join(names(family))}{did_you_mean(name, names(family))}", where, name)


def find(family: str, name: str, where: str | None = None) -> Any:
    """The class behind a name. The class is imported here, on first use."""
    check(family, name, where or family)
    try:
        return _entries(family)[name].load()
    except Exception as error:  # the module of another package may raise anything
        source = f"{_entries(family)[name].value}: {type(error).__name__}: {error}"
        raise SpecError(f"cannot be loaded from {source}; repair or remove its package", where or family, name) from error


def loadable(family: str) -> dict[str, Any]:
    """Name -> class of every part that can be loaded. A broken one is refused only where a spec names it."""
    found = {}
    for name in names(family):
        with suppress(SpecError):
            found[name] = find(family, name)
    return found


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """The hint `; did you mean ...?` for a misspelt name, or an empty string if no known name is similar."""
    close = get_close_matches(name, list(known), n=most)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
