"""The inventory of named data sets: what they are, whether they are on this machine, how to get them, what is in them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse.data.documents import SPLITS, Document
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

# What is shown of a split: so many rows, each at most so long, or so much of a long text.
ROWS, LINE, SAMPLE = 6, 160, 600


@dataclass(frozen=True)
class DataSet:
    """A data set in a list."""

    name: str
    about: str
    origin: str
    licence: str
    present: bool
    where: str  # for people: whence it comes, or how to get it
    command: str = ""  # what fetches it, where that can be done


@dataclass(frozen=True)
class Split:
    """What a split holds."""

    name: str
    documents: int
    bytes: int
    beginning: str


def every() -> list[DataSet]:
    """All data sets."""
    return [find(name) for name in catalogue.names("source")]


def find(name: str) -> DataSet:
    """One data set by name."""
    cls = _class(name)
    files = getattr(cls, "files", ())
    if not files:
        return DataSet(
            name, cls.about, cls.origin, cls.licence, True, "generated" if _is_generated(cls) else "ships with Glasshouse"
        )
    try:
        for file in files:
            file.locate(name)
        return DataSet(name, cls.about, cls.origin, cls.licence, True, "on this machine")
    except DataError:
        command = f"glasshouse data get {name}" if all(file.url for file in files) else ""
        return DataSet(name, cls.about, cls.origin, cls.licence, False, command or "put it in GLASSHOUSE_DATA", command)


def get(name: str, progress: Callable[[float], None]) -> list[Path]:
    """Fetch what is not here and may be fetched; give the files."""
    files = getattr(_class(name), "files", ())
    if not files:
        whence = "is generated" if _is_generated(_class(name)) else "ships with Glasshouse"
        raise DataError("nothing-to-fetch", f"the data set {name!r} {whence}; there is nothing to get")
    found = []
    for index, file in enumerate(files):
        if file.url:
            found.append(file.fetch(lambda share, index=index: progress((index + share) / len(files))))
        else:
            found.append(file.locate(name))
    return found


def splits(name: str) -> list[Split]:
    """Each split's documents and size, and how it begins."""
    source = _class(name).of(DataSpec())
    found = []
    for split in SPLITS:
        documents, size = 0, 0
        first: list[Document] = []
        for document in source.documents(split):
            documents += not document.continues
            size += len(document.text.encode())
            if len(first) < ROWS:
                first.append(document)
        found.append(Split(split, documents, size, _beginning(first)))
    return found


def _beginning(documents: list[Document]) -> str:
    """Of rows each on a line, with its label or target; of short texts each; of long ones the beginning of the first."""
    first = documents[0] if documents else Document("")
    if len(first.text) > LINE and not first.fields.keys() & {"label", "target"}:
        return first.text[:SAMPLE]
    return "\n".join(map(_row, documents))


def _row(document: Document) -> str:
    text = _shortened(document.text)
    if "target" in document.fields:
        return f"{text} → {_shortened(document.fields['target'])}"
    return f"{document.fields['label']}: {text}" if "label" in document.fields else text


def _shortened(text: str) -> str:
    """A text on one line, with its middle left out where it is long: a question may stand at the end."""
    line = " / ".join(text.splitlines())
    return line if len(line) <= LINE else f"{line[: LINE - 40].rstrip()} … {line[-40:].lstrip()}"


def _class(name: str) -> Any:
    return catalogue.find("source", name, "data set")


def _is_generated(cls: Any) -> bool:
    return getattr(cls, "generated", False)
