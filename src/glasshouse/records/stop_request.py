"""A request to stop a run, as a file in its folder: also a process of another machine that shares the folder can make it.

The training loop looks for the file between steps. It saves a checkpoint and stops, as after SIGTERM.
"""

from pathlib import Path

from glasshouse.records import plain_files

FILE = "stop"


def make(folder: Path) -> None:
    plain_files.open_to_write(folder / FILE).close()


def is_made(folder: Path) -> bool:
    return (folder / FILE).exists()


def withdraw(folder: Path) -> None:
    """Forget the request: it was obeyed, or the run is trained anew."""
    (folder / FILE).unlink(missing_ok=True)
