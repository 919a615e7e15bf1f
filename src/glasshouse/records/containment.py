"""Whatever is written or deleted for a run or a study stays inside its folder, also if somebody else made the folder.

Names of other folders that are read from files of the folder must be plain names, without a way out of it. Symbolic links
inside a folder are refused before the first file is written.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeGuard

from glasshouse.specs.errors import RunError

# Longer names fit no file system.
MOST_NAME_BYTES = 255


def folder_setting(variable: str, default: str | Path) -> Path:
    """The folder that an environment variable names, or the default one. It need not exist. A file is refused."""
    path = Path(os.environ.get(variable) or default)
    try:
        is_folder = path.is_dir() or not path.exists()
    except (OSError, ValueError) as error:
        raise RunError(f"{variable}={str(path)[:200]!r} is no path ({error}); name a folder") from None
    if not is_folder:
        named = f"{variable}={path}" if os.environ.get(variable) else str(path)
        raise RunError(f"{named} is a file and not a folder; move the file, or set {variable} to a folder")
    return path


def refuse_links(folder: Path, within: Path | None = None) -> None:
    """Refuse a folder that contains a symbolic link, at any depth. The folder itself may be reached through one.

    The user names a run or a study, and may keep it elsewhere. With `within`, the program chose the names of the folders
    from there to this one, and none of them may be a link.
    """
    for path in _below(folder, within) if within else ():
        refuse_link(path)
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            refuse_link(os.path.join(where, name))


def passes_link(path: Path, within: Path) -> bool:
    return any(map(os.path.islink, _below(path, within)))


def _below(path: Path, within: Path) -> list[Path]:
    return [path, *(above for above in path.parents if above.is_relative_to(within) and above != within)]


def refuse_link(path: str | Path) -> None:
    if os.path.islink(path):
        remedy = "nothing is written or deleted through links; put what it names in its place, or delete it"
        raise RunError(f"{path} is a symbolic link to {os.readlink(path)}; {remedy}")


def folder_within(parent: Path, names: Iterable[object], where: Path) -> Path:
    """The folder parent/NAME/... . Refuses a name that is not one plain name; `where` is the file that has it."""
    path = parent
    for name in names:
        if not is_plain_name(name):
            wrong = f"{where} names a folder {str(name)[:100]!r}, which is not one name inside {parent}"
            raise RunError(f"{wrong}; do not use a folder that was altered, or correct the name")
        path = path / name
    return path


def is_plain_name(name: object) -> TypeGuard[str]:
    """Whether a name is that of one file or folder, with no way out of the folder that it is in."""
    if not isinstance(name, str) or not name or name in (".", "..") or any(sign in name for sign in "/\\\0"):
        return False
    try:
        return len(os.fsencode(name)) <= MOST_NAME_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
