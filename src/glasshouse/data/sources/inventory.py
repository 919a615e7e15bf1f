"""The inventory of named data sets: what they are, whether they are on this machine, how to get them, what is in them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse.data.documents import SPLITS
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import Data


@dataclass(frozen=True)
class Entry:
    """A data set in a list."""

    name: str
    about: str
    origin: str
    licence: str
    where: str


@dataclass(frozen=True)
class Split:
    """What a split holds."""

    name: str
    documents: int
    bytes: int
    beginning: str


def every() -> list[Entry]:
    """All data sets."""
    return [find(name) for name in catalogue.names("source")]


def find(name: str) -> Entry:
    """One data set by name."""
    cls = _class(name)
    return Entry(name, cls.about, cls.origin, cls.licence, _where(name, cls))


def get(name: str, progress: Callable[[float], None]) -> list[Path]:
    """Fetch what is not here and may be fetched; give the files."""
    files = getattr(_class(name), "files", ())
    if not files:
        raise DataError(f"the data set {name!r} ships with Glasshouse; there is nothing to get")
    found = []
    for index, file in enumerate(files):
        if file.url:
            found.append(file.fetch(lambda share, index=index: progress((index + share) / len(files))))
        else:
            found.append(file.locate(name))
    return found


def splits(name: str) -> list[Split]:
    """Each split's documents and size, and how its text begins."""
    source = _class(name).of(Data())
    found = []
    for split in SPLITS:
        documents, size, beginning = 0, 0, ""
        for document in source.documents(split):
            documents += not document.continues
            size += len(document.text.encode())
            beginning = beginning or document.text[:600]
        found.append(Split(split, documents, size, beginning))
    return found


def _class(name: str) -> Any:
    return catalogue.find("source", name, "data set")


def _where(name: str, cls: Any) -> str:
    files = getattr(cls, "files", ())
    if not files:
        return "yes, ships with Glasshouse"
    try:
        for file in files:
            file.locate(name)
    except DataError:
        return f"no: glasshouse data get {name}" if all(file.url for file in files) else "no: put it in GLASSHOUSE_DATA"
    return "yes"
