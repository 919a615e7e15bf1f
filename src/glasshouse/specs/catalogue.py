"""Catalogues: from a spec's word to the class behind it, through entry points.

A name can be checked, and the names of a family listed, without importing torch or the part itself. Another package
adds a part by declaring an entry point in the same group, `glasshouse.FAMILY`.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from glasshouse.specs.errors import SpecError


@cache
def _entries(family: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(entry_points(group=f"glasshouse.{family}"), key=lambda e: e.name)}


def names(family: str) -> list[str]:
    """Every word that a spec may use for this family."""
    return list(_entries(family))


def check(family: str, name: str, where: str) -> None:
    """Refuse a word that no package provides; `where` is the field that used it."""
    if name not in _entries(family):
        raise SpecError(
            "unknown-word", f"{where}={name!r} is not one of: {', '.join(names(family))}{nearest(name, names(family))}"
        )


def find(family: str, name: str, where: str | None = None) -> Any:
    """The class behind a word; importing it happens here and not before."""
    check(family, name, where or family)
    try:
        return _entries(family)[name].load()
    except (ImportError, AttributeError, SyntaxError) as error:
        raise SpecError(
            "part-cannot-be-loaded",
            f"{where or family}={name!r} cannot be loaded from {_entries(family)[name].value}: "
            f"{type(error).__name__}: {error}; repair or remove the package that provides it",
        ) from error


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` for a misspelt name, or nothing when no known name is close."""
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
