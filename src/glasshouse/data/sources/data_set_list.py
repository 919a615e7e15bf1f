"""Describes the named data sets: what they are, whether they are on this machine, how to fetch them, and an excerpt.

The catalogue `glasshouse.source` in pyproject.toml lists them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.data.sources.installed_python import CodePackage, InstalledPython
from glasshouse.data.sources.remote_files import PublishedSource
from glasshouse.records import progress_bar
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

# An excerpt shows a few rows of limited length, or the first characters of a long text.
EXCERPT_ROWS, EXCERPT_LINE, EXCERPT_CHARACTERS = 6, 160, 600
# A shortened row keeps this many characters of its end.
_LINE_END = 40


@dataclass(frozen=True)
class DataSet:
    name: str
    about: str
    origin: str
    licence: str
    present: bool
    availability: str  # for the user: where the data set is, or how to get it
    fetch_command: str = ""  # empty if the data set cannot be fetched


@dataclass(frozen=True)
class Split:
    """A split: its rows or documents, the bytes of its text, and an excerpt of it."""

    name: str
    documents: int
    bytes: int
    excerpt: str = ""


def all_data_sets() -> list[DataSet]:
    return [find_data_set(name) for name in catalogue.names("source")]


def find_data_set(name: str) -> DataSet:
    source = _source_class(name)
    present, availability, command = True, source.availability, ""
    if issubclass(source, PublishedSource):
        try:
            for file in source.files:
                file.locate(name)
            availability = "on this machine"
        except DataError:
            command = f"glasshouse data get {name}" if all(file.url for file in source.files) else ""
            present, availability = False, command or "put it in GLASSHOUSE_DATA"
    return DataSet(name, source.about, source.origin, source.licence, present, availability, command)


def fetch(name: str, progress: Callable[[float], None]) -> list[Path]:
    """Fetch the files of a data set that have an address, and return the paths of all its files."""
    source = _source_class(name)
    if not issubclass(source, PublishedSource):
        raise DataError(f"the data set {name!r} has no files to fetch ({source.availability}); just use it")
    parts = [progress_bar.part(progress, index, len(source.files)) for index in range(len(source.files))]
    return [file.fetch(part) if file.url else file.locate(name) for file, part in zip(source.files, parts, strict=True)]


def describe_splits(name: str, progress: Callable[[float], None] = lambda share: None) -> list[Split]:
    """The number of documents, the size and an excerpt of each split."""
    source = _source_class(name).from_spec(DataSpec())
    described = []
    for index, split in enumerate(SPLITS):
        progress(index / len(SPLITS))
        documents, size = 0, 0
        first: list[Document] = []
        for document in source.documents(split):
            documents += not document.continues
            size += len(document.text.encode())
            if len(first) < EXCERPT_ROWS:
                first.append(document)
        described.append(Split(split, documents, size, _excerpt(first)))
    return described


def packages(name: str) -> list[CodePackage]:
    """The packages that a data set is made of, with their licences and splits. Most data sets are made of none."""
    source = _source_class(name).from_spec(DataSpec())
    return source.entries() if isinstance(source, InstalledPython) else []


def _excerpt(documents: list[Document]) -> str:
    """Short documents on one line each, with their label or target; or the start of the first document if that is long."""
    first = documents[0] if documents else Document("")
    if len(first.text) > EXCERPT_LINE and not first.fields.keys() & {"label", "target"}:
        return first.text[:EXCERPT_CHARACTERS]
    rows = []
    for document in documents:
        label = f"{document.fields['label']}: " if "label" in document.fields else ""
        target = f" → {_shortened(document.fields['target'])}" if "target" in document.fields else ""
        rows.append(f"{label}{_shortened(document.text)}{target}")
    return "\n".join(rows)


def _shortened(text: str) -> str:
    """A text on one line. The middle of a long text is omitted, since its end may be a question."""
    line = " / ".join(text.splitlines())
    if len(line) <= EXCERPT_LINE:
        return line
    return f"{line[: EXCERPT_LINE - _LINE_END].rstrip()} … {line[-_LINE_END:].lstrip()}"


def _source_class(name: str) -> type[Source]:
    found: type[Source] = catalogue.find("source", name, "data set")
    return found
