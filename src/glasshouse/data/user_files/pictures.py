"""Your own pictures with captions as a source: TSV files of a picture's path, a tab and a caption.

Any picture that pillow opens will do; it is cut to its middle square and brought to one size. Pairs are held out by a digest
of the caption, so that a caption that stands there twice cannot be in two splits.
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
    """Pictures and captions from files that a person names; paths in them are relative to the file that names them."""

    about = "your own pictures"
    origin = "this machine"
    licence = "yours"
    columns: ClassVar[tuple[str, ...]] = ("picture",)

    def __init__(self, files: tuple[str, ...], size: int, validation: float, test: float) -> None:
        self.files = [Path(name).expanduser() for name in files]
        self.size, self.validation, self.test = size, validation, test

    def documents(self, split: str) -> Iterator[Document]:
        for home, path, caption in self._pairs:
            if home == split:
                yield Document(caption, picture=read_picture(path, self.size))

    def fingerprint(self) -> str:
        digests = [text_files.survey(path).digest for path in self.files]
        seen = hashlib.blake2b(digest_size=16)
        for _, path, _ in self._pairs:
            seen.update(hashlib.blake2b(_bytes(path), digest_size=16).digest())
        return json.dumps([digests, seen.hexdigest(), self.size, self.validation, self.test])

    def bytes(self, split: str) -> int:
        return sum(len(caption.encode()) for home, _, caption in self._pairs if home == split)

    def notes(self) -> list[str]:
        """What a person should know of the pairs: those that were left out."""
        self._pairs  # noqa: B018 (reads them)
        return self._remarks

    @cached_property
    def _pairs(self) -> list[tuple[str, Path, str]]:
        self._remarks: list[str] = []
        found = [(file, *row) for file in self.files for row in self._rows(file)]
        kept = [(file.parent / path, caption) for file, path, caption in found if path and caption]
        if not kept:
            raise DataError("no-rows", f"{', '.join(map(str, self.files))}: no line has both a picture and a caption")
        if len(kept) < len(found):
            self._remarks.append(
                f"{len(found) - len(kept)} of {len(found)} lines lack a picture or a caption and are left out"
            )
        keys = _together(kept)
        homes = table_files.homes(keys, self.validation, self.test)
        return [(homes[key], path, caption) for key, (path, caption) in zip(keys, kept, strict=True)]

    @staticmethod
    def _rows(file: Path) -> Iterator[tuple[str, str]]:
        if ".tsv" not in file.suffixes:
            raise DataError(
                "not-a-table",
                f"{file}: pictures are read from .tsv files, with a picture's path, a tab and a caption on each line",
            )
        return table_files.read(file, COLUMNS)


def read_picture(path: Path, size: int) -> np.ndarray:
    """The middle square of a picture, (size, size, 3) in bytes; what is transparent becomes white."""
    _bytes(path)
    try:
        with Image.open(path) as opened:
            upright = ImageOps.exif_transpose(opened).convert("RGBA")
    except UnidentifiedImageError:
        raise DataError(
            "not-a-picture", f"{path} is not a picture of a kind that pillow knows; convert it to PNG or JPEG"
        ) from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(
            "not-a-picture", f"{path} is a broken picture ({error}); save it again, or leave its line out"
        ) from None
    fitted = ImageOps.fit(upright, (size, size), Image.Resampling.LANCZOS)
    paper = Image.new("RGBA", fitted.size, "white")
    return np.asarray(Image.alpha_composite(paper, fitted).convert("RGB"), np.uint8)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            "unreadable-file", f"cannot read the picture {path}: {error.strerror or error}; check the path"
        ) from None


def _together(pairs: list[tuple[Path, str]]) -> list[str]:
    """A key for each pair; those that share a picture or a caption, directly or through others, have the same."""
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while parents.setdefault(name, name) != name:
            parents[name] = parents[parents[name]]
            name = parents[name]
        return name

    names = [(f"picture {path}", f"caption {caption}") for path, caption in pairs]
    for one, other in names:
        parents[root(one)] = root(other)
    return [root(one) for one, _ in names]
