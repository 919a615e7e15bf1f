"""Where a named data set's files are: in the folder that `GLASSHOUSE_DATA` names, in our cache, or to be fetched.

Nothing is fetched unless a person asks (`glasshouse data get NAME`). A fetched file must match its checksum.
"""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from glasshouse.records import atomic_files
from glasshouse.specs.errors import DataError


def cache() -> Path:
    """The folder for what can be fetched or made again: `GLASSHOUSE_CACHE`, or the user's own cache folder."""
    base = os.environ.get("GLASSHOUSE_CACHE")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "glasshouse"


@dataclass(frozen=True)
class Remote:
    """One file of a data set: its place under a data folder, and, where it may be fetched, from where."""

    path: str
    url: str = ""
    sha256: str = ""

    def locate(self, data_set: str) -> Path:
        """The file on this machine, or an error that says how to get it."""
        folders = [cache() / "data"]
        if os.environ.get("GLASSHOUSE_DATA"):
            folders.insert(0, Path(os.environ["GLASSHOUSE_DATA"]))
        for folder in folders:
            if (folder / self.path).is_file():
                return folder / self.path
        remedy = f"fetch it with: glasshouse data get {data_set}" if self.url else f"put it at {folders[0] / self.path}"
        raise DataError(
            "data-set-missing", f"the data set {data_set!r} is not on this machine ({self.path} is missing); {remedy}"
        )

    def fetch(self, progress: Callable[[float], None]) -> Path:
        """Download into the cache; the file appears there only once its checksum matches."""
        target = cache() / "data" / self.path
        if target.is_file() and _sha256(target) == self.sha256:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        url = self._address()
        try:
            with atomic_files.replacing(target) as temporary:
                _download(url, temporary, progress)
                if (found := _sha256(temporary)) != self.sha256:
                    raise DataError(
                        "wrong-checksum",
                        f"{url} gave a file with SHA-256 {found}, not {self.sha256}: it is damaged or has changed; "
                        f"try again, or put the right file at {target}",
                    )
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise DataError(
                "fetch-failed", f"cannot fetch {url}: {reason}; try again, or put the file at {target}"
            ) from None
        return target

    def _address(self) -> str:
        """Where to fetch from; `GLASSHOUSE_MIRROR` names a server that holds the same files under the same paths."""
        mirror = os.environ.get("GLASSHOUSE_MIRROR")
        return f"{mirror.rstrip('/')}/{self.path}" if mirror else self.url


def _download(url: str, path: Path, progress: Callable[[float], None]) -> None:
    with urllib.request.urlopen(url, timeout=30) as answer, open(path, "wb") as file:
        total = int(answer.headers.get("Content-Length") or 0)
        done = 0
        while block := answer.read(1 << 16):
            file.write(block)
            done += len(block)
            progress(done / total if total else 0.0)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
