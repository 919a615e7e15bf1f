"""Whatever is written or deleted for a run or a study stays inside its folder, also if somebody else made the folder.

Names of other folders that are read from files of the folder must be plain names, without a way out of it. Symbolic links
inside a folder are refused before the first file is written.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from glasshouse.specs.errors import RunError


def refuse_links(folder: Path) -> None:
    """Refuse a folder that contains a symbolic link, at any depth. The folder itself may be reached through one."""
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if os.path.islink(path := os.path.join(where, name)):
                raise RunError(
                    "link-in-folder",
                    f"{path} is a symbolic link to {os.readlink(path)}; nothing is written or deleted through links; put "
                    "what it names in its place, or delete it",
                )


def folder_within(parent: Path, names: Iterable[object], where: Path) -> Path:
    """The folder parent/NAME/... . Refuses a name that is not one plain name; `where` is the file that has it."""
    path = parent
    for name in names:
        if not isinstance(name, str) or not name or name in (".", "..") or any(sign in name for sign in "/\\\0"):
            raise RunError(
                "outside-folder",
                f"{where} names a folder {name!r}, which is not one name inside {parent}; do not use a folder that was "
                "altered, or correct the name",
            )
        path = path / name
    return path
