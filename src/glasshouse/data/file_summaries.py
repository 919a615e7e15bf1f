"""Summaries of large text files, remembered in the cache until the file changes. Knows nothing of splits or tokens.

A file counts as unchanged if its size and its times of change are the same. So many processes that prepare the same text
read it only once to check it, and `train` need not read 10 GB before its first step.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from glasshouse.data import read_limits, text_files
from glasshouse.data.read_limits import ReadLimits
from glasshouse.data.sources.remote_files import cache_folder
from glasshouse.data.text_files import FileSummary
from glasshouse.records import atomic_files, lock

REMEMBERED_BYTES = 1 << 24
"""Smaller files are read each time."""

SETTLED_SECONDS = 2.0
"""A file that changed more recently could change again within the resolution of its times; its summary is not remembered."""

FileState = list[int]
"""Size and times of change."""


def file_state(path: Path) -> FileState:
    """What changes whenever the content of a file does."""
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def summarise(
    path: Path, limits: ReadLimits = read_limits.DEFAULT, progress: Callable[[int], None] = lambda done: None
) -> FileSummary:
    """The summary of a file, from the cache if the file is large and unchanged. Otherwise the file is read and checked."""
    try:
        state = file_state(path)
        if not path.is_file() or state[0] < REMEMBERED_BYTES:
            return text_files.summarise(path, limits=limits, progress=progress)
        name = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=12).hexdigest()
        kept_file = cache_folder() / "summaries" / f"{name}.json"
        kept_file.parent.mkdir(parents=True, exist_ok=True)
        lock_path = kept_file.with_suffix(".lock")
        lock_path.touch()
    except OSError:  # The file or the cache cannot be used.
        return text_files.summarise(path, limits=limits, progress=progress)
    with lock.wait_for(lock_path):
        with suppress(OSError, ValueError):
            kept = json.loads(kept_file.read_text())
            if kept["state"] == state:
                return FileSummary(kept["bytes"], kept["digest"])
        begun = time.time()
        summary = text_files.summarise(path, limits=limits, progress=progress)
        if begun - max(state[1:]) / 1e9 > SETTLED_SECONDS and file_state(path) == state:
            # The name of the file is for people who look into the cache.
            facts = {"file": str(path.absolute()), "state": state, "bytes": summary.bytes, "digest": summary.digest}
            with suppress(OSError):
                atomic_files.write_json(kept_file, facts)
        return summary
