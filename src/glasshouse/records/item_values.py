"""The values of a run item by item: `item_values/SPLIT.npz` in its folder. Knows nothing of what an item is."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from glasshouse.records import atomic_files, plain_files
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import RunError


def file_of(run: RunFolder, split: str) -> Path:
    return run.path / "item_values" / f"{split}.npz"


def write(run: RunFolder, split: str, values: Mapping[str, np.ndarray]) -> None:
    file = file_of(run, split)
    file.parent.mkdir(exist_ok=True)
    with atomic_files.replacing(file) as temporary, open(temporary, "wb") as output:
        np.savez(output, allow_pickle=False, **values)


def read(run: RunFolder, split: str) -> dict[str, np.ndarray]:
    """Name -> the value of each item of a split; nothing if no values were kept."""
    file = file_of(run, split)
    if not file.exists():
        return {}
    try:
        with plain_files.open_to_read(file) as opened, np.load(opened, allow_pickle=False) as arrays:
            return {name: np.asarray(arrays[name]) for name in arrays.files}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error, NotImplementedError) as error:
        raise RunError(f"{file} cannot be read ({error}); delete it, and continue the study to have it made again") from None
