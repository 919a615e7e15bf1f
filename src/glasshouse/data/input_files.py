"""The user's files by name: files, folders and patterns, and which of them are for which split. Reads no content."""

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS
from glasshouse.data.tables import reading
from glasshouse.records import user_paths
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

# Files in a folder that are taken for data.
TEXT_SUFFIXES = (".txt", ".text", ".md", ".docx", ".html", ".htm", ".pdf")
SPLIT_NAMES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}


@dataclass(frozen=True)
class InputFiles:
    """The names of files for each split. A split without files gets a share of the training files."""

    train: tuple[str, ...]
    validation: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def shares(self, data: DataSpec) -> tuple[float, float]:
        """The shares of the training files that are held out for validation and test."""
        return (0.0 if self.validation else data.validation), (0.0 if self.test else data.test)

    def by_split(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(split, names) for split in SPLITS if (names := getattr(self, split))]

    def paths(self) -> list[Path]:
        return [path for _, names in self.by_split() for path in expand(names)]


def of(data: DataSpec) -> InputFiles:
    """The files of a data spec. One folder with parts named train, validation or test has files for each split."""
    if not data.validation_files and not data.test_files and len(data.files) == 1:
        folder = user_paths.expand(data.files[0])
        parts = _named_parts(folder) if folder.is_dir() else {}
        if "train" in parts and len(parts) > 1:
            told = ", ".join(f"{split}: {', '.join(Path(name).name for name in names)}" for split, names in parts.items())
            return InputFiles(**parts, remarks=(f"{folder.name} has files for each split ({told})",))
    return InputFiles(data.files, data.validation_files, data.test_files)


def _named_parts(folder: Path) -> dict[str, tuple[str, ...]]:
    """Split -> the entries of a folder that are named after it."""
    parts: dict[str, list[str]] = {}
    for entry in sorted(folder.iterdir()):
        word = re.split(r"[\W_]", entry.name.lower())[0]
        for split, names in SPLIT_NAMES.items():
            if word in names and (entry.is_dir() or _is_data(entry)):
                parts.setdefault(split, []).append(str(entry))
    return {split: tuple(parts[split]) for split in SPLITS if split in parts}


def expand(names: Iterable[str]) -> list[Path]:
    """The files that names stand for: a folder is all data files in it, and a pattern with * or ? all files that match."""
    files: list[Path] = []
    for name in names:
        path = user_paths.expand(name)
        if path.is_dir():
            found = data_files(path)
            remedy = f"name files, or put into it files that end in {', '.join((*TEXT_SUFFIXES[:2], *reading.READERS))}"
        elif not path.exists() and glob.has_magic(str(path)):
            matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
            found = [file for match in matches for file in (data_files(match) if match.is_dir() else [match])]
            remedy = "correct the pattern"
        else:
            found = [path]
        if not found:
            raise DataError(f"{path} has no file of text or rows; {remedy}")
        files += found
    return list(dict.fromkeys(files))


def data_files(folder: Path, suffixes: Sequence[str] = ()) -> list[Path]:
    """The data files in a folder and the folders within it, in a fixed order. Hidden ones are left out."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        shown = (Path(parent, name) for name in sorted(names) if not name.startswith("."))
        found += [path for path in shown if _is_data(path, suffixes)]
    return found


def class_folders(folder: Path) -> dict[str, list[Path]]:
    """Class -> its text files, if a folder has folders of text files and no data files of its own."""
    if any(entry.is_file() and _is_data(entry) for entry in folder.iterdir()):
        return {}
    inner = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    classes = {entry.name: data_files(entry, (".txt", ".text", ".md", "")) for entry in inner}
    return {name: files for name, files in classes.items() if files}


def _is_data(path: Path, suffixes: Sequence[str] = ()) -> bool:
    """Whether the name of a file ends like one of data. The files that `datasets` writes beside its data do not count."""
    if path.name in ("dataset_info.json", "state.json", "dataset_dict.json"):
        return False
    return text_files.suffix(path) in (suffixes or (*TEXT_SUFFIXES, *reading.READERS, *reading.SENTENCE_SUFFIXES))
