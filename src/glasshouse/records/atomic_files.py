"""Atomic writes: a file or folder is written under a temporary name next to its target and then renamed."""

import fcntl
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from glasshouse.records.user_paths import StrPath
from glasshouse.specs.errors import GlasshouseError


def check_output(output: StrPath | None, suffixes: tuple[str, ...] = (), *, overwrite: bool = True) -> None:
    """Refuse an output file that could not be written or has the wrong suffix. Call it before any work starts.

    Without `overwrite`, a file that exists is refused too. None is no output.
    """
    if output is None:
        return
    path = Path(output)
    if suffixes and path.suffix.lower() not in suffixes:
        suffix = f"the suffix {path.suffix}" if path.suffix else "no suffix"
        raise GlasshouseError(f"{path} has {suffix}; name a file that ends in {' or '.join(suffixes)}")
    if path.is_dir():
        raise GlasshouseError(f"{path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise GlasshouseError(f"{path.name} cannot be written: there is no folder {path.absolute().parent}; create it first")
    if not overwrite and (path.is_file() or path.is_symlink()):
        raise GlasshouseError(f"{path} already exists; add --overwrite to replace it, or name another file")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file that replaces `path` when the block succeeds and is deleted when the block fails.

    At any moment, and after a crash, `path` holds either the complete old content or the complete new content.
    """
    temporary = _temporary_name(path)
    try:
        _delete_leftovers(path)
        with _held(temporary):
            yield temporary
            sync(temporary)
            os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        with suppress(OSError):  # after the rename, or on a read-only disk, the temporary file does not exist
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold as an escape sequence alone
        text = json.dumps(value, indent=1)
    write_text(path, text + "\n")


@contextmanager
def folder(path: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to `path` when the block succeeds and is deleted when the block fails.

    Raises FileExistsError if `path` exists by then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(path)
    delete(temporary)
    _delete_leftovers(path)
    try:
        with _held(temporary, is_folder=True):
            yield temporary
            for entry in temporary.iterdir():
                sync(entry)
            try:
                os.rename(temporary, path)
            except OSError:
                if path.exists():
                    raise FileExistsError(str(path)) from None
                raise
        sync(path.parent)
    finally:
        delete(temporary)


def delete_folder(path: Path) -> None:
    """Delete a folder that nobody sees half deleted: it is renamed first. Links in it are deleted, not followed."""
    temporary = _temporary_name(path)
    delete(temporary)
    os.rename(path, temporary)
    # What cannot be deleted is told: it would stay under a hidden name.
    _remove(temporary, ignore_errors=False)


def delete(path: Path) -> None:
    """Delete a file, a link, or a folder with all that is in it, as far as that can be done."""
    with suppress(OSError):
        _remove(path, ignore_errors=True)


def _remove(path: Path, ignore_errors: bool) -> None:
    """Delete what stands at a path, of a folder all that can be deleted with `ignore_errors`.

    A pipe may stand where a folder is expected. `shutil.rmtree` would open it, and wait for whoever writes into it.
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=ignore_errors)
    else:
        path.unlink()


def _temporary_name(path: Path) -> Path:
    """A name of this process alone, also in a folder that several machines share."""
    return path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.tmp")


@contextmanager
def _held(temporary: Path, is_folder: bool = False) -> Iterator[None]:
    """Create a temporary file or folder and hold a lock on it. The system releases the lock if this process is killed."""
    while True:
        if is_folder:
            temporary.mkdir(exist_ok=True)
        descriptor = os.open(temporary, os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with suppress(OSError):  # a file system without locks: what a killed process leaves there stays
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Before it was locked, it looked like what a killed process had left, and may have been deleted.
            if temporary.exists():
                yield
                return
        finally:
            os.close(descriptor)


def _delete_leftovers(path: Path) -> None:
    """Delete temporary files and folders of `path` whose process was killed: those that nobody holds."""
    prefix, own = f".{path.name}.", _temporary_name(path).name
    with suppress(OSError):
        for name in os.listdir(path.parent):
            if not (name.startswith(prefix) and re.search(r"\.\d+\.tmp$", name)) or name == own:
                continue
            with suppress(OSError):
                descriptor = os.open(leftover := path.with_name(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    delete(leftover)
                finally:
                    os.close(descriptor)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk, so that it survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
