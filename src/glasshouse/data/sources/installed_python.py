"""The Python files of the installed packages whose licence is permissive: a text of code that every machine has.

The list of files and their digests come from the record that every package has, so that nothing is read to know what the
text is. Files are read one at a time. What the text is depends on what is installed; its fingerprint says which it was.

A licence is permissive if it lets the text be used and passed on without conditions on works made of it. Whatever is not
known to be so, by what the metadata of its package say, is not used.
"""

import base64
import csv
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from email.message import Message
from functools import cached_property
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import ClassVar

from glasshouse.data.documents import SPLITS, Document, Source
from glasshouse.formatting import size
from glasshouse.specs.errors import DataError

# Smaller files hold no code to speak of, and larger ones are tables.
FILE_BYTES = range(64, 1_000_001)
MEGABYTE = 1_000_000
# Identifiers of SPDX.
PERMISSIVE = frozenset(
    {
        *("0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "BSL-1.0", "CC0-1.0", "Unlicense", "Zlib", "NCSA"),
        *("HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "X11", "CNRI-Python", "PSF-2.0", "Python-2.0", "Python-2.0.1"),
    }
)
# Words of free text that name a permissive licence, and words that rule one out.
_PERMISSIVE_WORDS = re.compile(
    r"\b(0?BSD|MIT|Apache|ISC|ISCL|PSF|Python Software Foundation|Unlicense|zlib|CC0|HPND)\b", re.I
)
_OTHER_WORDS = re.compile(
    r"\b([AL]?GPL\w*|GNU|MPL|Mozilla|EPL|EUPL|CDDL|SSPL|Eclipse|Proprietary|Commercial|Non-?Commercial|BUSL)\b", re.I
)


@dataclass(frozen=True)
class CodeFile:
    """A Python file: its path within the folder of packages, its digest as in the package's record, and its size."""

    path: str
    digest: str
    bytes: int


@dataclass(frozen=True)
class CodePackage:
    """An installed package, and its files that no earlier package has. If it is in no split, `reason` says why."""

    name: str
    version: str
    licence: str
    folder: Path
    files: tuple[CodeFile, ...]
    split: str = ""
    reason: str = ""

    @cached_property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    def changed(self, path: Path, reason: str) -> DataError:
        """The error for a file that is not as the package recorded it."""
        return DataError(
            f"{path} is not as {self.name} {self.version} installed it ({reason}), and the text must be the same at every "
            f"reading; install it again: pip install --force-reinstall --no-deps {self.name}=={self.version}"
        )


class InstalledPython(Source):
    """Each document is a file. A file occurs once, and the files of a package are in one split.

    Packages come in the order of a digest of their name. A package is held out if it fits into what its split still lacks
    of `data.validation` or `data.test`, which are shares of the text; so the largest packages are for training. With
    `data.megabytes` packages are used as long as they fit into that.
    """

    about = "Python code of the installed packages with permissive licences, split by package"
    origin = "the packages that are installed beside Glasshouse"
    licence = "those of the packages: `glasshouse data show installed-python`"
    availability: ClassVar[str] = "made of the installed packages"
    spec_fields: ClassVar[tuple[str, ...]] = ("validation", "test", "megabytes")

    def __init__(
        self, validation: float = 0.05, test: float = 0.05, megabytes: float = 0.0, folders: Iterable[str] | None = None
    ) -> None:
        """`folders` are folders of installed packages; by default those that Python imports from."""
        self.shares = {"validation": validation, "test": test}
        self.limit = megabytes * MEGABYTE
        self._folders = None if folders is None else list(folders)

    def documents(self, split: str) -> Iterator[Document]:
        for package in self.packages[split]:
            for file in package.files:
                if (text := _read(package, file)) is not None:
                    yield Document(text, fields={"package": package.name, "path": file.path})

    def fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for split in SPLITS:
            for package in self.packages[split]:
                for file in package.files:
                    digest.update(json.dumps([split, package.name, file.path, file.digest]).encode())
        return digest.hexdigest()

    def bytes(self, split: str) -> int:
        return sum(package.bytes for package in self.packages[split])

    def notes(self) -> list[str]:
        used = [package for split in SPLITS for package in self.packages[split]]
        files, total = sum(len(package.files) for package in used), size(sum(package.bytes for package in used))
        told = "`glasshouse data show installed-python` lists the packages and their licences"
        return [f"{len(used)} packages, {files:,} files, {total} of Python code; {told}"]

    def entries(self) -> list[CodePackage]:
        """All installed packages with Python files: those that are used, largest first, then those that are not."""
        split_of = {package.name: split for split in SPLITS for package in self.packages[split]}
        entries = []
        for one in self._installed:
            unused = "no room, or other packages have its files" if is_permissive(one.licence) else "licence"
            split = split_of.get(one.name, "")
            entries.append(replace(one, split=split, reason="" if split else unused))
        return sorted(entries, key=lambda entry: (not entry.split, -entry.bytes, entry.name))

    @cached_property
    def packages(self) -> dict[str, list[CodePackage]]:
        """The packages of each split, each with the files that no package before it has."""
        used, seen, total = list[CodePackage](), set[str](), 0
        for package in self._installed:
            if not is_permissive(package.licence):
                continue
            files = tuple({file.digest: file for file in package.files if file.digest not in seen}.values())
            unique = replace(package, files=files)
            if files and (not self.limit or total + unique.bytes <= self.limit):
                used.append(unique)
                seen.update(file.digest for file in files)
                total += unique.bytes
        if not used:
            within = f" within data.megabytes={self.limit / MEGABYTE:g}" if self.limit else ""
            raise DataError(f"no installed package has Python files and a permissive licence{within}; install packages")
        return self._split(used, total)

    def _split(self, used: list[CodePackage], total: int) -> dict[str, list[CodePackage]]:
        lacking = {split: share * total for split, share in self.shares.items() if share}
        splits: dict[str, list[CodePackage]] = {split: [] for split in SPLITS}
        for package in used:
            neediest = max(lacking, key=lambda split: lacking[split], default="train")
            chosen = neediest if package.bytes <= lacking.get(neediest, 0) else "train"
            splits[chosen].append(package)
            if chosen in lacking:
                lacking[chosen] -= package.bytes
        if empty := [split for split in ("train", *lacking) if not splits[split]]:
            now = " and ".join(f"data.{split}={share:g}" for split, share in self.shares.items())
            raise DataError(f"{len(used)} packages leave the {empty[0]} split empty; choose larger shares than {now}, or 0")
        return splits

    @cached_property
    def _installed(self) -> list[CodePackage]:
        """All installed packages that have Python files, in the order of a digest of their name."""
        found: dict[str, CodePackage] = {}
        for distribution in distributions(path=self._folders) if self._folders else distributions():
            name = str(distribution.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")
            # Of two versions Python imports the first.
            if name and name not in found and (files := _files(distribution)):
                folder = Path(str(distribution.locate_file("")))
                found[name] = CodePackage(name, distribution.version, licence_of(distribution.metadata), folder, files)  # type: ignore[arg-type]
        return sorted(found.values(), key=lambda package: hashlib.blake2b(package.name.encode()).digest())


def _files(distribution: Distribution) -> tuple[CodeFile, ...]:
    """The Python files of a package in the order of their paths, from its record. A record without digests is not used."""
    files = []
    for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
        if len(row) != 3 or not row[0].endswith(".py") or row[0].startswith(("/", "..")):
            continue
        path, digest, length = row
        if digest.startswith("sha256=") and length.isdigit() and int(length) in FILE_BYTES:
            files.append(CodeFile(path, digest, int(length)))
    return tuple(sorted(files, key=lambda file: file.path))


def _read(package: CodePackage, file: CodeFile) -> str | None:
    """The text of a file; None if it is not UTF-8. A file that is not as its package recorded it is refused."""
    path = package.folder / file.path
    try:
        content = path.read_bytes()
    except OSError as error:
        raise package.changed(path, error.strerror or str(error)) from None
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    if f"sha256={digest}" != file.digest:
        raise package.changed(path, "its content has changed")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def licence_of(metadata: Message) -> str:
    """The licence that a package states: an SPDX expression, the names in its classifiers, or a line of free text."""
    if expression := metadata.get("License-Expression"):
        return str(expression).strip()
    classifiers = [str(one) for one in metadata.get_all("Classifier") or () if str(one).startswith("License :: ")]
    names = [one.rpartition(" :: ")[2] for one in classifiers if one != "License :: OSI Approved"]
    if names:
        return ", ".join(names)
    # A longer field is the text of a licence, whose first line names it at best.
    first_line = str(metadata.get("License") or "").strip().partition("\n")[0].strip()
    return first_line[:100] if first_line.upper() != "UNKNOWN" else ""


def is_permissive(licence: str) -> bool:
    """Whether a licence, as `licence_of` returns it, is known to be permissive."""
    if re.search(r"\b(AND|OR|WITH)\b", licence) or licence in PERMISSIVE:
        # A choice within brackets is not followed: then every licence must be permissive.
        if "(" in licence:
            return _all_permissive(re.split(r"[()]|\bAND\b|\bOR\b", licence))
        return any(_all_permissive(choice.split(" AND ")) for choice in licence.split(" OR "))
    return all(_PERMISSIVE_WORDS.search(name) and not _OTHER_WORDS.search(name) for name in licence.split(", "))


def _all_permissive(licences: Sequence[str]) -> bool:
    """Whether every one of several SPDX identifiers is permissive. The exception of LLVM only widens what is allowed."""
    named = [one.strip().partition(" WITH ") for one in licences if one.strip()]
    return bool(named) and all(name in PERMISSIVE and also in ("", "LLVM-exception") for name, _, also in named)
