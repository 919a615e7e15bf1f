"""Files and folders that appear whole or not at all: written under a temporary name beside their place and renamed."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from glasshouse.specs.errors import GlasshouseError


def check_output(path: Path, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse, before any work, a file that could not be written, or that does not end as it must."""
    if suffixes and path.suffix.lower() not in suffixes:
        ending = path.suffix or "without a suffix"
        raise GlasshouseError(
            "wrong-suffix", f"{path} must be {' or '.join(suffixes)}, not {ending}; name a file that ends so"
        )
    if path.is_dir():
        raise GlasshouseError("folder-not-file", f"{path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise GlasshouseError(
            "missing-folder", f"there is no folder {path.absolute().parent} to write {path.name} into; make it first"
        )


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file name that becomes `path` when the block ends well, and vanishes when it does not.

    A reader, or a crash, sees the old content or the new and nothing between.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        sync(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        with suppress(OSError):  # on a disk that is read-only there is nothing to delete
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def folder(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes `path` when the block ends well, and vanishes when it does not.

    Raises FileExistsError where `path` exists already by then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
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
        shutil.rmtree(temporary, ignore_errors=True)


def sync(path: Path) -> None:
    """Ask the system to put a file or folder on the disk now, so that it survives a power cut too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
