"""A run in one file: a gzip-compressed tar whose first member lists every other with its size and SHA-256 digest.

Only headers of plain files are accepted, and no byte is written that the list does not announce. The digests show damage;
they do not show who wrote the file.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, TypedDict

from glasshouse.formatting import size
from glasshouse.records import atomic_files, kept_json, lock, plain_files, run_folder
from glasshouse.records.kept_schema import Count, Size
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import RunError
from glasshouse.version import __version__

SUFFIX = ".tar.gz"
FORMAT = 1
MANIFEST = "manifest.json"
# Limits on what is unpacked. A path of more than 100 characters needs a header that is not that of a plain file.
MOST_BYTES = 64 << 30
MOST_FILES = 10_000
MOST_MANIFEST_BYTES = 4 << 20
LONGEST_PATH = 100
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_CHUNK = 1 << 20
# Weights hardly become smaller at a higher level, and take several times as long.
_LEVEL = 1
# In `run.json`: the names of other runs, which are not packed.
_OTHER_RUNS = ("family", "together")

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Entry:
    bytes: Count
    sha256: Annotated[str, Size(64, 64)]


class Manifest(TypedDict):
    """The first member: the name of the run, and its files by their paths in the run folder."""

    format: Count
    run: str
    files: dict[str, Entry]


def pack(run: RunFolder, output: Path, progress: Progress = lambda share: None) -> int:
    """Write a run to one file, and return the size of the file. The same run gives the same bytes.

    Hidden files are left out: locks, and what a killed process has not finished.
    """
    atomic_files.check_output(output, (".gz",))
    if os.path.lexists(output):
        raise RunError(f"{output} already exists; choose another --output, or delete it")
    if lock.is_held(run.path):
        raise RunError(f"{run.path} is in use by another process; wait until its training has ended, or stop it")
    entries: dict[str, Entry] = {}
    for path in sorted(_files(run.path)):
        name = path.relative_to(run.path).as_posix()
        if not _is_safe(name):
            raise RunError(f"{path} has a name that a packed run cannot have; move it out of the run folder")
        with plain_files.open_to_read(path) as source:
            entries[name] = Entry(path.stat().st_size, hashlib.file_digest(source, "sha256").hexdigest())
    files = {name: asdict(entry) for name, entry in entries.items()}
    manifest = json.dumps({"format": FORMAT, "glasshouse": __version__, "run": run.name, "files": files}, indent=1).encode()
    total, done = max(sum(entry.bytes for entry in entries.values()), 1), 0
    with (
        atomic_files.replacing(output) as temporary,
        open(temporary, "wb") as file,
        gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        archive.addfile(_header(MANIFEST, len(manifest)), io.BytesIO(manifest))
        for name, entry in entries.items():
            with plain_files.open_to_read(run.path / name) as source:
                archive.addfile(_header(name, entry.bytes), source)
            done += entry.bytes
            progress(done / total)
    return output.stat().st_size


def unpack(
    file: Path, name: str | None = None, most_bytes: int = MOST_BYTES, progress: Progress = lambda share: None
) -> RunFolder:
    """Make a run from a file that `pack` wrote, under `name` or under the name that it had.

    Every file is checked. After an error nothing of the run remains.
    """
    with _reading(file) as source:
        packed_name, entries = _read_manifest(file, source, most_bytes)
        chosen = run_folder.checked_name(packed_name if name is None else name)
        run_folder.check_free(chosen)
        path = run_folder.root() / chosen
        path.parent.mkdir(parents=True, exist_ok=True)
        total, done = sum(entry.bytes for entry in entries.values()), 0
        if total > (free := shutil.disk_usage(path.parent).free):
            raise RunError(f"{file} needs {size(total)} and {path.parent} has {size(free)}; free some space")
        try:
            with atomic_files.folder(path) as temporary:
                while (header := _next_header(file, source)) is not None:
                    entry = entries.pop(header.name, None)
                    if entry is None or header.size != entry.bytes:
                        raise _refusal(file, f"{header.name!r} is missing in its list, is twice in it or has another size")
                    _read_member(file, source, header.name, entry, temporary)
                    done += entry.bytes
                    progress(done / max(total, 1))
                if entries:
                    raise _refusal(file, f"{next(iter(entries))} is missing")
                unpacked = RunFolder(temporary)
                facts = unpacked.facts()
                kept_json.refuse_newer(facts, run_folder.FORMAT, file)
                unpacked.tables()
                alone = {key: value for key, value in facts.items() if key not in _OTHER_RUNS}
                atomic_files.write_json(temporary / "run.json", alone)
        except FileExistsError:
            raise RunError(f"{path} already exists; choose another --name") from None
    return RunFolder(path)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise RunError(f"{path} is a link or a device, which is not packed; replace it by the file")
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def _is_safe(path: str) -> bool:
    """Whether a path stays in its folder, on every system, and hides nothing."""
    return len(path) <= LONGEST_PATH and path != MANIFEST and all(_PART.fullmatch(part) for part in path.split("/"))


def _header(name: str, length: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size = length
    return header


@contextmanager
def _reading(file: Path) -> Iterator[gzip.GzipFile]:
    """The decompressed content of a file. Errors of its format become errors for the user."""
    try:
        opened = plain_files.open_to_read(file)
    except OSError as error:
        raise RunError(f"cannot read {file}: {error.strerror}; give a file that `glasshouse pack` wrote") from None
    with opened, gzip.GzipFile(fileobj=opened) as source:
        try:
            yield source
        except gzip.BadGzipFile:
            raise _refusal(file, "it is no .tar.gz file") from None
        except (EOFError, zlib.error, tarfile.HeaderError) as error:
            raise _refusal(file, f"it cannot be read ({str(error) or 'its end is missing'})") from None


def _read_manifest(file: Path, source: gzip.GzipFile, most_bytes: int) -> tuple[str, dict[str, Entry]]:
    header = _next_header(file, source)
    if header is None or header.name != MANIFEST or not 0 <= header.size <= MOST_MANIFEST_BYTES:
        raise _refusal(file, f"it does not begin with {MANIFEST}")
    try:
        manifest: Manifest = kept_json.parse(_exactly(source, header.size), Manifest)
        _exactly(source, -header.size % tarfile.BLOCKSIZE)
        kept_json.refuse_newer(manifest, FORMAT, file)
    except ValueError as error:
        raise _refusal(file, f"its {MANIFEST} is damaged ({error})") from None
    entries = manifest["files"]
    if unsafe := [path for path in entries if not _is_safe(path)]:
        raise _refusal(file, f"{unsafe[0]!r} is not a path inside a run folder")
    total = sum(entry.bytes for entry in entries.values())
    if total > most_bytes or len(entries) > MOST_FILES:
        raise RunError(
            f"{file} holds {len(entries):,} files of {size(total)} in all, and the limits are {MOST_FILES:,} files and "
            f"{size(most_bytes)}; if you trust the file, raise the limit: --max-bytes {total}"
        )
    return manifest["run"], entries


def _next_header(file: Path, source: gzip.GzipFile) -> tarfile.TarInfo | None:
    """The header of the next member; None at the end. Links, devices, folders and extended headers are refused."""
    block = _exactly(source, tarfile.BLOCKSIZE)
    if not any(block):
        return None
    header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    if header.type != tarfile.REGTYPE:
        raise _refusal(file, f"{header.name!r} is not a plain file")
    return header


def _read_member(file: Path, source: gzip.GzipFile, name: str, entry: Entry, folder: Path) -> None:
    path = folder / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = open(path, "xb")  # noqa: SIM115 (it is closed below)
    except (FileExistsError, NotADirectoryError):
        raise _refusal(file, f"{name} is both a file and a folder in it") from None
    digest = hashlib.sha256()
    with opened as target:
        for begin in range(0, entry.bytes, _CHUNK):
            chunk = _exactly(source, min(entry.bytes - begin, _CHUNK))
            digest.update(chunk)
            target.write(chunk)
    _exactly(source, -entry.bytes % tarfile.BLOCKSIZE)
    if digest.hexdigest() != entry.sha256:
        raise _refusal(file, f"the content of {name} differs from its SHA-256 digest")


def _exactly(source: gzip.GzipFile, length: int) -> bytes:
    data = source.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _refusal(file: Path, problem: str) -> RunError:
    return RunError(
        f"{file} is no intact packed run: {problem}; pack or copy it again (models of other programs: glasshouse import)"
    )
