"""Public functions that put a run into one file, and make a run from such a file. They do not import torch."""

from os import PathLike
from pathlib import Path

from glasshouse.api.listings import tell_of_old_report
from glasshouse.records import progress_bar, run_archive, run_folder


def pack(run: str | PathLike[str], output: str | PathLike[str] | None = None) -> Path:
    """Write a run to one file: weights, optimiser state, spec, tokenizer, metrics and report. Returns the path of the file.

    The default is RUN.tar.gz in the current folder. Its data are not packed. A list of SHA-256 digests is.
    """
    folder = run_folder.find(run)
    path = Path(output) if output else Path(f"{folder.name}{run_archive.SUFFIX}")
    with progress_bar.bar(f"packing {folder.name}") as bar:
        run_archive.pack(folder, path, bar)
    return path


def unpack(file: str | PathLike[str], name: str | None = None, max_bytes: int = run_archive.MOST_BYTES) -> Path:
    """Make a run from a file that `pack` wrote, under its own name or another, and return the path of its folder.

    Every file is compared with its digest. A file with anything else in it than plain files of a run, or with more than
    `max_bytes` of them, is refused, and nothing of it remains.
    """
    with progress_bar.bar(f"unpacking {Path(file).name}") as bar:
        folder = run_archive.unpack(Path(file), name, max_bytes, bar)
    tell_of_old_report(folder)
    data = folder.tables().get("data", {})
    if absent := [path for path in data.get("files", ()) if not Path(path).exists()]:
        progress_bar.say(
            f"the data of {folder.name} are not on this machine ({', '.join(absent)}); sample and classify work without "
            "them, evaluate works with --data FILE"
        )
    return folder.path
