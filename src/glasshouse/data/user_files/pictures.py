"""The user's own captioned pictures as a source: tables with a picture's path and a caption in each row, or folders.

In a folder, the caption of a picture is in a text file of the same name, or in a table of the folder, or it is the name of
the folder that the picture is in. Pillow opens the pictures, which are cropped to their central square and scaled to one
size. Splits are assigned by a digest. Pairs that share a caption or a picture are always in the same split.
"""

import hashlib
import io
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from glasshouse.data import input_files
from glasshouse.data.documents import Document, Source
from glasshouse.data.splits import assign_splits
from glasshouse.data.tables import columns, reading
from glasshouse.data.tables.columns import ColumnRequest
from glasshouse.data.tables.table import DataTable, TableFormat
from glasshouse.records import plain_files, user_paths
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

COLUMNS = (
    ColumnRequest("picture", "picture", "picture"),
    ColumnRequest("caption", "caption"),
)
PICTURES = columns.PICTURE_SUFFIXES
RULE = "write a picture's path, a tab and a caption on each line of a .tsv file"


class UserPictures(Source):
    """Pictures and captions from the user's files. Picture paths are relative to the table that lists them."""

    columns: ClassVar[tuple[str, ...]] = ("picture",)

    def __init__(self, data: DataSpec) -> None:
        self.names, self.form = input_files.of(data), TableFormat.of(data)
        self.size, self.shares = data.picture_size, self.names.shares(data)

    def documents(self, split: str) -> Iterator[Document]:
        for pair_split, path, caption in self._pairs:
            if pair_split == split:
                yield Document(caption, picture=read_picture(path, self.size))

    def fingerprint(self) -> str:
        pairs = hashlib.blake2b(digest_size=16)
        for split, path, caption in self._pairs:
            pairs.update(json.dumps([split, caption]).encode() + hashlib.blake2b(_read_bytes(path), digest_size=16).digest())
        return json.dumps([pairs.hexdigest(), self.size, *self.shares])

    def bytes(self, split: str) -> int:
        return sum(len(caption.encode()) for pair_split, _, caption in self._pairs if pair_split == split)

    def notes(self) -> list[str]:
        self._pairs  # noqa: B018 (reading the pairs collects the remarks)
        return self._remarks

    @cached_property
    def _pairs(self) -> list[tuple[str, Path, str]]:
        """(split, picture path, caption) of every row that has both a picture and a caption."""
        self._remarks: list[str] = list(self.names.remarks)
        rows = {split: [row for name in names for row in self._read(name)] for split, names in self.names.by_split()}
        complete = {split: [(path, text) for path, text in pairs if path.name and text] for split, pairs in rows.items()}
        if not complete["train"]:
            raise DataError(f"{', '.join(self.names.train)}: no row has both a picture and a caption; {RULE}")
        count, total = (sum(map(len, pairs.values())) for pairs in (complete, rows))
        if count < total:
            self._remarks.append(f"{total - count} of {total} lines have no picture or no caption and are skipped")
        train = complete["train"]
        groups = _connected_groups(train)
        split_of = assign_splits(groups, *self.shares)
        return [
            *((split_of[group], path, caption) for group, (path, caption) in zip(groups, train, strict=True)),
            *((split, *pair) for split in ("validation", "test") for pair in complete.get(split, ())),
        ]

    def _read(self, name: str) -> Iterator[tuple[Path, str]]:
        path = user_paths.expand(name)
        if path.is_dir():
            tables = [file for file in input_files.data_files(path) if reading.is_table(file)]
            yield from (pair for file in tables for pair in self._table_rows(file))
            if not tables:
                yield from self._folder_pairs(path)
            return
        for file in input_files.expand([name]):
            if not reading.is_table(file):
                raise DataError(f"{file} is neither a folder of pictures nor a table; {RULE}")
            yield from self._table_rows(file)

    def _table_rows(self, file: Path) -> Iterator[tuple[Path, str]]:
        table: DataTable = reading.read(file, self.form)
        found = columns.find(table, COLUMNS) if table.named else None
        first, second = found.indices if found else (0, 1)
        self._remarks += [*table.remarks, *(found.remarks if found else ())]
        for row in self.form.limits.kept(table.rows(), file):
            yield (file.parent / row[first] if row[first] else Path()), row[second]

    def _folder_pairs(self, folder: Path) -> Iterator[tuple[Path, str]]:
        pictures = input_files.data_files(folder, PICTURES)
        if not pictures:
            raise DataError(f"{folder} has no pictures ({', '.join(PICTURES)}); choose another folder")
        beside = [path.with_suffix(".txt").is_file() for path in pictures]
        place = "in the .txt files beside them" if any(beside) else "the names of their folders"
        self._remarks.append(f"captions of pictures in {folder.name} are {place}")
        for path, has_text in zip(pictures, beside, strict=True):
            if any(beside):
                caption = reading.read_cell(path.with_suffix(".txt"), self.form) if has_text else ""
            else:
                caption = " ".join(path.parent.name.replace("_", " ").replace("-", " ").split())
            yield path, caption


def read_picture(path: Path, size: int) -> np.ndarray:
    """The central square of a picture as (size, size, 3) in uint8. Transparent areas become white."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    content = io.BytesIO(_read_bytes(path))
    try:
        with Image.open(content) as opened:
            upright = ImageOps.exif_transpose(opened).convert("RGBA")
    except UnidentifiedImageError:
        raise DataError(f"{path} is not in a picture format that Pillow can read; convert it to PNG or JPEG") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is a damaged picture ({error}); save it again, or remove its line") from None
    fitted = ImageOps.fit(upright, (size, size), Image.Resampling.LANCZOS)
    background = Image.new("RGBA", fitted.size, "white")
    return np.asarray(Image.alpha_composite(background, fitted).convert("RGB"), np.uint8)


def _read_bytes(path: Path) -> bytes:
    try:
        return plain_files.read_bytes(path)
    except OSError as error:
        raise DataError(f"cannot read the picture {path}: {error.strerror or error}; check the path") from None


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
