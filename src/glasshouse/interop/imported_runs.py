"""Imports a model on first use, for `training.start_from`. The run is in the cache folder under a digest of the files.

So the same files are imported once, and a spec that names a package or a directory works on another machine too.
"""

import hashlib
import re
import tempfile
from pathlib import Path

from glasshouse.data.sources.remote_files import cache_folder
from glasshouse.interop import formats, imported_model
from glasshouse.records import lock, progress_bar, run_folder, user_paths
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import CannotImport

# Files of a model directory that an import reads.
PATTERNS = ("*.json", "*.safetensors")


def find(source: str) -> RunFolder:
    """The run of a model, from the cache or imported now.

    The source is an installed package (package:NAME), a model of the Hugging Face hub (hub:OWNER/NAME), a Hugging Face
    directory or a GGUF file.
    """
    path = formats.resolve(source if source.startswith((formats.PACKAGE, formats.HUB)) else user_paths.expand(source))
    with progress_bar.bar(f"reading {source}"):
        folder = cache_folder() / "imported" / f"{default_name(source)}-{_digest(path)}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with lock.wait_for(folder.with_name(f".{folder.name}.lock")):
            if not folder.exists():
                with progress_bar.bar(f"importing {source}"), tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
                    run = imported_model.save_as_run(formats.read(path), folder.name, Path(temporary) / folder.name)
                    run.path.rename(folder)  # so that an interrupted import leaves no half of a run
                progress_bar.say(f"imported {source} into {folder}")
    except OSError as error:
        raise CannotImport(
            f"cannot import {source} into {folder}: {error.strerror or error}; free some space, or set GLASSHOUSE_CACHE"
        ) from None
    return RunFolder(folder)


def default_name(source: str) -> str:
    """The name of an imported run if the user gives none: the last part of the source."""
    last = Path(source.rpartition(":")[2]).absolute()
    stem = last.name if last.is_dir() else last.name.removesuffix(".gguf").removesuffix(".bin")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip(".-_") or "imported"


def _digest(path: Path) -> str:
    """A digest of all that an import reads."""
    files = [path] if path.is_file() else sorted(file for pattern in PATTERNS for file in path.glob(pattern))
    digest = hashlib.blake2b(str(run_folder.FORMAT).encode(), digest_size=6)
    for file in files:
        with open(file, "rb") as stream:
            digest.update(f"{file.name} ".encode() + hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
