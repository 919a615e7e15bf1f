"""What an import reads of a file from somebody else: what fits into memory, and only files inside the model's own folder."""

import os
from pathlib import Path

from glasshouse.records import containment, machine
from glasshouse.specs.errors import CannotImport

# An import holds each number in float32, and some of them twice: tensors that are concatenated to one of ours.
BYTES_PER_NUMBER = 6


def check_memory(path: Path, numbers: int) -> None:
    """Refuse a model with more numbers than fit into the memory of this machine, before any of them is read."""
    needed, free = numbers * BYTES_PER_NUMBER, machine.available_memory()
    if needed > free:
        raise CannotImport(
            f"{path} holds {numbers:,} numbers, which take {needed:,} bytes to import, and this machine has {free:,} free; "
            "import it on a larger machine, or choose a smaller model"
        )


def file_within(directory: Path, name: str, listed_in: Path) -> Path:
    """The file of this name in a directory. Refuses a name that leads out of it, or that no file can have."""
    if not containment.is_plain_name(name):
        shown = name if len(name) <= 60 else f"{name[:60]}..."
        raise CannotImport(
            f"{listed_in} lists the file {shown!r}, which is no name of a file inside its directory; download or export it "
            "again"
        )
    return directory / name


def refuse_links(directory: Path) -> None:
    """Refuse a model directory with a file that is a symbolic link to a place outside of it.

    The cache of the Hugging Face hub is a directory of links into a folder `blobs` two levels above, which are followed.
    """
    inside = directory.resolve()
    for path in directory.iterdir():
        if path.is_symlink():
            target = path.resolve()
            if not (target.is_relative_to(inside) or target.parent == inside.parent.parent / "blobs"):
                raise CannotImport(
                    f"{path} is a symbolic link to {os.readlink(path)}, outside of its directory; copy the file there if "
                    "you trust it"
                )
