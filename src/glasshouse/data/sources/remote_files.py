"""The files of named data sets: in the folder `GLASSHOUSE_DATA`, in the cache folder, or on a server.

Files are fetched only by `glasshouse data get NAME`. A fetched file must match its checksum.
"""

import hashlib
import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from glasshouse.data import text_files
from glasshouse.data.documents import Source
from glasshouse.records import atomic_files, containment, user_paths
from glasshouse.specs.errors import DataError


def cache_folder() -> Path:
    """The folder for files that can be fetched or computed again: `GLASSHOUSE_CACHE`, or the user's cache folder."""
    if os.environ.get("GLASSHOUSE_CACHE"):
        return containment.folder_setting("GLASSHOUSE_CACHE", "")
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "glasshouse"
    if (home := user_paths.home()) is None:
        raise DataError("this user has no home folder for the cache; set GLASSHOUSE_CACHE to a folder")
    return home / ".cache" / "glasshouse"


@contextmanager
def writing(what: str, path: Path, cached: bool = True) -> Iterator[None]:
    """Turn the errors of a disk into errors with a remedy. `cached` files stand in the cache folder."""
    try:
        yield
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        remedy = "set GLASSHOUSE_CACHE" if cached else "choose another folder"
        raise DataError(f"cannot write {what} to {path} ({reason}); free some space, or {remedy}") from None


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set: its path within a data folder, and its address and checksum if it can be fetched."""

    path: str
    url: str = ""
    sha256: str = ""

    def locate(self, data_set: str) -> Path:
        """The path of the file on this machine. Raises an error with instructions if it is missing."""
        folders = [cache_folder() / "data"]
        if os.environ.get("GLASSHOUSE_DATA"):
            folders.insert(0, Path(os.environ["GLASSHOUSE_DATA"]))
        for folder in folders:
            if (folder / self.path).is_file():
                return folder / self.path
        remedy = f"fetch it with: glasshouse data get {data_set}" if self.url else f"put it at {folders[0] / self.path}"
        raise DataError(f"the data set {data_set!r} is not on this machine: {self.path} is missing; {remedy}")

    def fetch(self, progress: Callable[[float], None]) -> Path:
        """Download the file into the cache folder. It appears there only after its checksum has been verified.

        `GLASSHOUSE_MIRROR` names a server with the same files under the same paths.
        """
        target = cache_folder() / "data" / self.path
        if target.is_file() and _sha256(target) == self.sha256:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        mirror = os.environ.get("GLASSHOUSE_MIRROR")
        url = f"{mirror.rstrip('/')}/{self.path}" if mirror else self.url
        try:
            with atomic_files.replacing(target) as temporary:
                _download(url, temporary, progress)
                if (checksum := _sha256(temporary)) != self.sha256:
                    raise ValueError(f"its SHA-256 is {checksum} instead of {self.sha256}, so it is damaged or has changed")
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise DataError(f"cannot fetch {url}: {reason}; try again, or put the file at {target}") from None
        return target


def _download(url: str, path: Path, progress: Callable[[float], None]) -> None:
    with urllib.request.urlopen(url, timeout=30) as response, open(path, "wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        done = 0
        while block := response.read(1 << 16):
            file.write(block)
            done += len(block)
            progress(done / total if total else 0.0)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class PublishedSource(Source):
    """A data set that is made of published files. They and the `settings` are its fingerprint."""

    name: ClassVar[str]
    files: ClassVar[tuple[RemoteFile, ...]]
    settings: ClassVar[tuple[str | float, ...]] = ()

    def fingerprint(self) -> str:
        return json.dumps([*self.settings, *self.digests()])

    def digests(self) -> list[str]:
        return [text_files.summarise(file.locate(self.name)).digest for file in self.files]

    def check_columns(self, path: Path, names: Collection[str], found: Collection[str] | None) -> None:
        """Refuse a file whose first line does not have all of these columns."""
        if missing := [name for name in names if name not in (found or ())]:
            raise DataError(f"{path} has no column {missing[0]!r} in its first line; replace it with the published file")

    def known(self, label: str, names: Mapping[str, str], place: object) -> str:
        """The name of the class that a label in a file stands for."""
        if label not in names:
            raise DataError(
                f"{place}: the label {label!r} is not one of {', '.join(names)}; replace the file with the published one"
            )
        return names[label]
