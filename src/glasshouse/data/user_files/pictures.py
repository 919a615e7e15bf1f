"""The user's own captioned pictures as a source: TSV files with a picture's path, a tab and a caption on each line.

Pillow opens the pictures, which are cropped to their central square and scaled to one size. Splits are assigned by a digest.
Pairs that share a caption or a picture are always in the same split.
"""

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from glasshouse.data import table_files, text_files
from glasshouse.data.documents import Document, Source
from glasshouse.specs.errors import DataError

COLUMNS = table_files.Column("picture", "", "picture"), table_files.Column("caption", "", "caption")


class UserPictures(Source):
    """Pictures and captions from the user's files. Picture paths are relative to the TSV file that lists them."""

    about = "your own pictures"
    origin = "this machine"
    licence = "yours"
    columns: ClassVar[tuple[str, ...]] = ("picture",)

    def __init__(self, files: tuple[str, ...], size: int, validation: float, test: float) -> None:
        self.files = [Path(name).expanduser() for name in files]
        self.size, self.validation, self.test = size, validation, test

    def documents(self, split: str) -> Iterator[Document]:
        for pair_split, path, caption in self._pairs:
            if pair_split == split:
                yield Document(caption, picture=read_picture(path, self.size))

    def fingerprint(self) -> str:
        digests = [text_files.summarise(path).digest for path in self.files]
        pictures = hashlib.blake2b(digest_size=16)
        for _, path, _ in self._pairs:
            pictures.update(hashlib.blake2b(_read_bytes(path), digest_size=16).digest())
        return json.dumps([digests, pictures.hexdigest(), self.size, self.validation, self.test])

    def bytes(self, split: str) -> int:
        return sum(len(caption.encode()) for pair_split, _, caption in self._pairs if pair_split == split)

    def notes(self) -> list[str]:
        """Remarks about skipped lines."""
        self._pairs  # noqa: B018 (reading the pairs collects the remarks)
        return self._remarks

    @cached_property
    def _pairs(self) -> list[tuple[str, Path, str]]:
        """(split, picture path, caption) of every line that has both a picture and a caption."""
        self._remarks: list[str] = []
        rows = [(file, *row) for file in self.files for row in self._read_rows(file)]
        complete = [(file.parent / path, caption) for file, path, caption in rows if path and caption]
        if not complete:
            raise DataError(
                "no-rows",
                f"{', '.join(map(str, self.files))}: no line has both a picture and a caption; "
                "write a picture's path, a tab and a caption on each line",
            )
        if len(complete) < len(rows):
            self._remarks.append(
                f"{len(rows) - len(complete)} of {len(rows)} lines have no picture or no caption and are skipped"
            )
        groups = _connected_groups(complete)
        splits = table_files.assign_splits(groups, self.validation, self.test)
        return [(splits[group], path, caption) for group, (path, caption) in zip(groups, complete, strict=True)]

    @staticmethod
    def _read_rows(file: Path) -> Iterator[tuple[str, str]]:
        if ".tsv" not in file.suffixes:
            raise DataError(
                "not-a-table",
                f"{file} must be a .tsv file to be read as captioned pictures, "
                "with a picture's path, a tab and a caption on each line",
            )
        return table_files.read_rows(file, COLUMNS)


def read_picture(path: Path, size: int) -> np.ndarray:
    """The central square of a picture as (size, size, 3) in uint8. Transparent areas become white."""
    _read_bytes(path)
    try:
        with Image.open(path) as opened:
            upright = ImageOps.exif_transpose(opened).convert("RGBA")
    except UnidentifiedImageError:
        raise DataError(
            "not-a-picture", f"{path} is not in a picture format that Pillow can read; convert it to PNG or JPEG"
        ) from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(
            "not-a-picture", f"{path} is a damaged picture ({error}); save it again, or remove its line"
        ) from None
    fitted = ImageOps.fit(upright, (size, size), Image.Resampling.LANCZOS)
    background = Image.new("RGBA", fitted.size, "white")
    return np.asarray(Image.alpha_composite(background, fitted).convert("RGB"), np.uint8)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            "unreadable-file", f"cannot read the picture {path}: {error.strerror or error}; check the path"
        ) from None


def _connected_groups(pairs: list[tuple[Path, str]]) -> list[str]:
    """The group of each pair. Pairs that share a picture or a caption, directly or through other pairs, form one group.

    The groups are connected components, found with a disjoint-set forest.
    """
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while parents.setdefault(name, name) != name:
            parents[name] = parents[parents[name]]
            name = parents[name]
        return name

    nodes = [(f"picture {path}", f"caption {caption}") for path, caption in pairs]
    for picture, caption in nodes:
        parents[root(picture)] = root(caption)
    return [root(picture) for picture, _ in nodes]
