"""The user's own captioned pictures as a source: tables with a picture's path and a caption in each row, or folders.

In a folder, the caption of a picture is in a text file of the same name, or in a table of the folder, or it is the name of
the folder that the picture is in. Pillow opens the pictures, which are cropped to their central square and scaled to one
size. Splits are assigned by a digest. Pairs that share a caption or a picture are always in the same split.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from glasshouse.data import input_files, splits
from glasshouse.data.documents import Document
from glasshouse.data.tables import columns, reading
from glasshouse.data.tables.table import DataTable, Row
from glasshouse.data.user_files.rows import UserRows
from glasshouse.records import plain_files, user_paths
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

PICTURES = columns.PICTURE_SUFFIXES


class UserPictures(UserRows):
    """Pictures and captions from the user's files. Picture paths are relative to the table that lists them."""

    columns: ClassVar[tuple[str, ...]] = ("picture",)
    text_role = "caption"

    def __init__(self, data: DataSpec) -> None:
        super().__init__(data, ("picture",))
        self.size, self.shares = data.picture_size, self.names.shares(data)

    def documents(self, split: str) -> Iterator[Document]:
        for row in super().documents(split):
            yield Document(row.text, picture=read_picture(Path(row.fields["picture"]), self.size))

    def fingerprint(self) -> str:
        pairs = hashlib.blake2b(digest_size=16)
        for split, row in self._rows:
            picture = _read_bytes(Path(row.fields["picture"]))
            pairs.update(json.dumps([split, row.text]).encode() + hashlib.blake2b(picture, digest_size=16).digest())
        return json.dumps([pairs.hexdigest(), self.size, *self.shares])

    def bytes(self, split: str) -> int:
        return sum(len(row.text.encode()) for row in super().documents(split))

    def _tables(self, names: Sequence[str]) -> Iterator[DataTable]:
        for path in map(user_paths.expand, names):
            files = (
                filter(reading.is_table, input_files.data_files(path)) if path.is_dir() else input_files.expand([str(path)])
            )
            tables = [reading.read(file, self.form) for file in files]
            yield from tables or [self._folder_table(path)]

    def _kept(self, table: DataTable, index_of: dict[str, int]) -> list[Document]:
        rows = super()._kept(table, index_of)
        for row in rows:
            if row.fields["picture"]:
                row.fields["picture"] = str(table.path.parent / row.fields["picture"])
        return rows

    def _remark_on_texts(self, rows: Sequence[Document]) -> None:
        """Several pictures may have one caption."""

    def _assign(self, rows: Sequence[Document]) -> list[str]:
        groups = _connected_groups(rows)
        split_of = splits.assign_splits(groups, *self.shares)
        return [split_of[group] for group in groups]

    def _folder_table(self, folder: Path) -> DataTable:
        pictures = input_files.data_files(folder, PICTURES)
        if not pictures:
            raise DataError(f"{folder} has no pictures ({', '.join(PICTURES)}); choose another folder")
        beside = [path.with_suffix(".txt").is_file() for path in pictures]
        place = "in the .txt files beside them" if any(beside) else "the names of their folders"
        self._remarks.append(f"captions of pictures in {folder.name} are {place}")

        def rows() -> Iterator[tuple[int, Row]]:
            for number, (path, has_text) in enumerate(zip(pictures, beside, strict=True), 1):
                if any(beside):
                    caption = reading.read_cell(path.with_suffix(".txt"), self.form) if has_text else ""
                else:
                    caption = " ".join(path.parent.name.replace("_", " ").replace("-", " ").split())
                yield number, (str(path.absolute()), caption)

        return DataTable(folder, ("picture", "caption"), rows, roles=("picture", "caption"))


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


def _connected_groups(rows: Sequence[Document]) -> list[str]:
    """The group of each row. Rows that share a picture or a caption, directly or through other rows, form one group.

    The groups are connected components, found with a disjoint-set forest.
    """
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while parents.setdefault(name, name) != name:
            parents[name] = parents[parents[name]]
            name = parents[name]
        return name

    nodes = [(f"picture {row.fields['picture']}", f"caption {row.text}") for row in rows]
    for picture, caption in nodes:
        parents[root(picture)] = root(caption)
    return [root(picture) for picture, _ in nodes]
